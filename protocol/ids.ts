/**
 * Identifiers: which forms are taken, and the one form that is kept.
 *
 * Hexadecimal ids match in any case and are kept in lower case. Anything else (braces, spaces, prefixes) is refused:
 * an id that is repaired by guessing may become another run's.
 */
import { z } from 'zod';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const GRAPH_SESSION = /^gs_[0-9a-f]{32}$/i;
const PROJECT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A UUID in any case; becomes lower case. */
export const uuidSchema = z
  .string()
  .regex(UUID, 'is not an id: expected a UUID, 8-4-4-4-12 hexadecimal digits')
  .toLowerCase();

/** One queued run. */
export const commandIdSchema = uuidSchema;
/** One run of a command on a desktop; made by the desktop. */
export const executionIdSchema = uuidSchema;
/** One start of a desktop process; made by it. */
export const instanceIdSchema = uuidSchema;

/** The durable identity of one Graph on one desktop. */
export const graphSessionIdSchema = z
  .string()
  .regex(GRAPH_SESSION, 'is not a Graph session id: expected gs_ and 32 hexadecimal digits')
  .toLowerCase();

/** What a client is connected to. Compared exactly. */
export const projectIdSchema = z
  .string()
  .regex(
    PROJECT,
    'is not a project id: expected 1-64 letters, digits, dots, dashes or underscores, a letter or digit first',
  );

/** A new Graph session id from 16 unguessable bytes. */
export function graphSessionId(hex32: string): string {
  return graphSessionIdSchema.parse(`gs_${hex32}`);
}

/** The channel on which a run's events appear. Only UUIDs are accepted as the command. */
export function runChannel(commandId: string): string {
  return `graph:external:${commandIdSchema.parse(commandId)}`;
}
