/**
 * Names for completion: from the running desktop, or from the Graph folder.
 *
 * Must not open the state, which would take its lock, nor make a folder: somebody is only typing.
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { localClient } from '../../../protocol/host/local-calls.ts';
import { dataDirectory } from '../../../protocol/host/process.ts';
import { slugOf } from '../../engine/graph-meta.ts';
import { parseGraph } from '../../engine/graph-source.ts';
import type { DesktopLocalRouter } from '../../local-api.ts';
import { recordFiles } from '../../runs/open-runs.ts';
import { RecordsDesk } from '../../runs/run-desk.ts';
import type { Names } from '../names.ts';
import { shortId } from '../run-text.ts';

export const graphNames: Names = async ({ data, graphs }) => {
  const running = await clientOf(data)
    .sessions.mutate()
    .catch(() => null);
  if (running !== null) return running.map(({ slug, name }) => ({ word: slug, about: name }));
  return namesIn(graphs ?? dataDirectory(data, 'graphs'));
};

export const projectNames: Names = async ({ data }) => {
  const projects = await clientOf(data)
    .projects.mutate()
    .catch(() => []);
  return projects.map(({ project_id, sessions }) => ({ word: project_id, about: `${sessions.length} shared` }));
};

/** The latest first. */
export const runNames: Names = async ({ data }) => {
  const folder = dataDirectory(data, 'desktop');
  const resting = () => new RecordsDesk({ files: recordFiles(folder), history: null }).list(RUNS);
  const runs = await clientOf(data).runs.list.mutate({ limit: RUNS }).catch(resting);
  return runs.map(({ command_id, graph, status }) => ({ word: shortId(command_id), about: `${graph} ${status}` }));
};

export const approvalNames: Names = async ({ data }) => {
  const open = await clientOf(data)
    .tools.approvals.mutate()
    .catch(() => null);
  return (open ?? []).map(({ approval, tool }) => ({ word: approval, about: tool }));
};

/** Older ones are looked up, not typed. */
const RUNS = 20;

function clientOf(data: string | undefined) {
  return localClient<DesktopLocalRouter>(dataDirectory(data, 'desktop'));
}

async function namesIn(folder: string) {
  const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.js') && !file.startsWith('.'));
  return Promise.all(files.sort().map((file) => nameIn(join(folder, file))));
}

async function nameIn(path: string) {
  const stem = basename(path, '.js');
  try {
    const { name, slug } = parseGraph(await readFile(path, 'utf8'), path).meta;
    return { word: slug ?? slugOf(stem), about: name };
  } catch {
    return { word: slugOf(stem), about: 'broken' };
  }
}
