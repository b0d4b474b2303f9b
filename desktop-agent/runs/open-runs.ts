/** The history of runs on a real machine: its folder, and how the desktop's parts are connected with it. */
import { nodeDisk } from '../../protocol/host/state/node-disk.ts';
import type { Ports } from '../../protocol/ports.ts';
import type { GraphShelf } from '../engine/graph-shelf.ts';
import type { GraphLibrary } from '../graph-library.ts';
import type { Engine } from '../ports.ts';
import { HandedOutGraphs } from './handed-out-graphs.ts';
import { RecordFiles, runsFolder } from './record-files.ts';
import { recordingEngine } from './recording-engine.ts';
import { RecordsDesk, type RunDesk } from './run-desk.ts';
import { RunHistory } from './run-history.ts';

/** The last lines of records get this long when the desktop stops. Longer: a disk that hangs holds up the end. */
const CLOSE_GRACE_MS = 2_000;

export interface OpenRuns {
  readonly history: RunHistory;
  readonly desk: RunDesk;
  /** The Graphs that Graphs call, remembered for the records of the runs that called them: for the engine. */
  readonly graphs: GraphShelf;
  /** The engine, with its runs written down. It closes the history too. */
  recorded(engine: Engine): Engine;
}

/** Records of the desktop with this data folder, for whoever reads them. */
export function recordFiles(desktopFolder: string): RecordFiles {
  return new RecordFiles({ disk: nodeDisk, folder: runsFolder(desktopFolder) });
}

export async function openRuns(options: {
  readonly ports: Ports;
  readonly desktopFolder: string;
  readonly library: GraphLibrary;
  readonly graphs: GraphShelf;
}): Promise<OpenRuns> {
  const { ports, desktopFolder, library } = options;
  const graphs = new HandedOutGraphs(options.graphs);
  const files = recordFiles(desktopFolder);
  const sessionOf = (id: string) => library.list().find(({ graph_session_id }) => graph_session_id === id) ?? null;
  const history = new RunHistory({ ports, files, sessionOf, nested: (called) => graphs.lineOf(called) });
  await history.open();
  return {
    history,
    graphs,
    desk: new RecordsDesk({ files, history }),
    recorded: (engine) => recordingEngine(engine, history, CLOSE_GRACE_MS),
  };
}
