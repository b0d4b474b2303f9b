/** Where the Graphs of this desktop are: the folder that was named, or `graphs` in the data folder. */
import { mkdir } from 'node:fs/promises';
import { dataDirectory } from '../protocol/host/process.ts';

/** The folder's path; it is made when it is not there. */
export async function graphFolder(options: { data: string | undefined; graphs: string | undefined }): Promise<string> {
  const folder = options.graphs ?? dataDirectory(options.data, 'graphs');
  await mkdir(folder, { recursive: true });
  return folder;
}
