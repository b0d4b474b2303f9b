/**
 * The desktop of the plain contract on a simulated machine: its posts go to the relay's own fetch handler, whichever
 * path the other desktops take, and are written down like theirs.
 *
 * Owns the time-out and the way of a post. What the program does is in `plain-desktop.ts`.
 */
import type { RunOutcome } from '../../../desktop-agent/ports.ts';
import { isErrorCode } from '../../../protocol/errors.ts';
import { createMemoryState } from '../../../protocol/host/state/memory-state.ts';
import { PLAIN_PATH } from '../../../protocol/plain-contract.ts';
import { headersNaming } from '../paths/naming.ts';
import { namedRandom, seededIds } from '../seeded.ts';
import { type Observer, observedCall } from './observed-calls.ts';
import {
  PLAIN_TABLES,
  type PlainAnswer,
  type PlainCall,
  PlainDesktop,
  type PlainOutcome,
  type PlainTables,
} from './plain-desktop.ts';
import type { Installed, ProgramGiven } from './program.ts';
import { createObservedEngine } from './simulated-graphs.ts';

/** A request without an answer is given up after this long. */
const TIMEOUT_MS = 10_000;

export function installPlain(given: ProgramGiven): Installed {
  const { options, ref, life, image, sessions } = given;
  const { history, seed, diskMs, namesInstance } = options;
  const store = createMemoryState<PlainTables>({
    tables: PLAIN_TABLES,
    clock: life,
    syncDelayMs: diskMs,
    ...(image && { restore: image }),
  });
  const engine = createObservedEngine(options, { ref, life });
  const desktop = new PlainDesktop({
    clock: life,
    ids: seededIds(namedRandom(seed, `${ref.instance} ids`)),
    namesInstance,
    store,
    sessions: () => sessions().map(({ file_name: _file, problem: _problem, ...session }) => session),
    post: postOver(given, { history, ref, clock: life.machine.world }),
    start(command, executionId) {
      const { command_id: commandId, arguments: args, slug } = command;
      const running = engine.start({ commandId, executionId, args, name: slug, source: '', channel: '', onEvent() {} });
      return { done: running.done.then(outcomeOf), cancel: () => running.cancel('The run was stopped.') };
    },
  });
  return {
    disk: store,
    program: {
      run: () => desktop.run(),
      drain: (graceMs) => desktop.drain(graceMs),
      share: (projectId, sessionId) => desktop.share(projectId, sessionId),
      unshare: (projectId, sessionId) => desktop.unshare(projectId, sessionId),
      libraryChanged: () => desktop.changed(),
    },
  };
}

function outcomeOf({ status, resultJson, error }: RunOutcome): PlainOutcome {
  return resultJson === null ? { status, error } : { status, result: JSON.parse(resultJson) };
}

function postOver(given: ProgramGiven, observer: Observer) {
  return (call: PlainCall, body: object, signal: AbortSignal): Promise<PlainAnswer> =>
    observedCall(observer, {
      call,
      input: body,
      signal,
      send: () => send(given, { call, body, signal }),
      told: (answer) => ({
        error: errorIn(answer),
        offered: call === 'sync' ? offeredIn(answer) : [],
        go: call === 'control' && answer?.status === 200 ? answer.body.cancel === false : null,
      }),
    });
}

function send(
  { options, life, names, wire, randomOf }: ProgramGiven,
  { call, body, signal }: { readonly call: PlainCall; readonly body: object; readonly signal: AbortSignal },
): Promise<PlainAnswer> {
  const { relay, token, defects } = options;
  const { promise, resolve } = Promise.withResolvers<PlainAnswer>();
  const headers = headersNaming({ authorization: `Bearer ${token}`, 'content-type': 'application/json' }, names);
  const end = (answer: PlainAnswer) => {
    timer.cancel();
    signal.removeEventListener('abort', aborted);
    resolve(answer);
  };
  const takeBack = wire.send<PlainAnswer>(life, {
    name: call,
    random: randomOf(call),
    async deliver(arrival) {
      const init = { method: 'POST', headers, body: JSON.stringify(body), signal: arrival };
      const request = new Request(`http://relay.test${PLAIN_PATH}/${call}`, init);
      const { fetch } = relay.serving!.relay;
      const response = await (defects.plain?.(fetch) ?? fetch)(request);
      return { status: response.status, body: JSON.parse(await response.text()) };
    },
    onAnswer: end,
    // A proxy's page is no answer either.
    onBreakdown: () => end(null),
  });
  const aborted = () => {
    takeBack();
    end(null);
  };
  const timer = life.after(TIMEOUT_MS, aborted);
  if (signal.aborted) aborted();
  else signal.addEventListener('abort', aborted, { once: true });
  return promise;
}

function errorIn(answer: PlainAnswer): string | null {
  if (answer === null) return 'unreachable';
  if (answer.status === 200) return null;
  const code = (answer.body.error as { code?: unknown } | undefined)?.code;
  return isErrorCode(code) ? code : 'not-a-relay';
}

function offeredIn(answer: PlainAnswer): string[] {
  const commands = (answer?.status === 200 ? answer.body.commands : []) as { command_id: string }[];
  return commands.map(({ command_id }) => command_id);
}
