/** What modes, workloads and faults may be called: a word for a table and for the command line. */
import { z } from 'zod';

export const nameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be a short word of small letters, digits and hyphens');
