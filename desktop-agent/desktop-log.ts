/** Where the desktop's log is, however it was started. */
import { join } from 'node:path';
import { dataDirectory } from '../protocol/host/process.ts';

export function desktopLogFile(data: string | undefined): string {
  return join(dataDirectory(data, 'desktop'), 'desktop.log');
}
