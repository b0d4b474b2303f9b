/**
 * The production relay as a process of the bench: the same start as `graph-relay server`, with somebody who looks on.
 *
 * Owns the instants that only the relay sees, taken while somebody records and not otherwise, and what the process uses.
 * Changes nothing of what the relay does.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { runServer } from '../../server/main.ts';
import { stampUs } from '../pickup/stamp.ts';
import type { RelayAnswer, RelayMark, RelayQuestion } from './relay-messages.ts';

const [data = ''] = process.argv.slice(2);

/** Null while nobody records. */
let marks: RelayMark[] | null = null;

function note(what: RelayMark['what'], commandId?: string): void {
  marks?.push({ what, atUs: stampUs(), ...(commandId !== undefined && { commandId }) });
}

/** Node tells of each request when its head is there, before anybody has read it. */
subscribe('http.server.request.start', (message) => {
  if (marks === null) return;
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  if (request.url?.endsWith('relay.control')) note('control-arrived');
  if (!request.url?.endsWith('relay.sync')) return;
  const end = response.end.bind(response) as (...all: unknown[]) => ServerResponse;
  response.end = (...all: unknown[]) => {
    note('sync-written');
    return end(...all);
  };
});

process.on('message', (question: RelayQuestion) => {
  if (question.ask === 'record') marks = question.on ? [] : null;
  const answer: RelayAnswer = {
    marks: question.ask === 'marks' ? (marks ?? []) : [],
    usage: usage(question.ask === 'usage' && question.collected),
  };
  process.send?.(answer);
});

/** `collected`: with what is garbage gone first, as far as the runtime lets us say so. */
function usage(collected: boolean): RelayAnswer['usage'] {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const rssBytes = process.memoryUsage.rss();
  if (collected) globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return { atUs: stampUs(), cpuUs: userCPUTime + systemCPUTime, rssBytes, keptBytes: heapUsed + external };
}

/** One agent asks for all desktops: what it meets is to be the relay's speed. */
const limits = { requestsPerAgent: 0, requestsPerDesktop: 0 };

await runServer(
  { data, host: '127.0.0.1', port: 0, logLevel: 'info', limits },
  {
    event(event, fields) {
      if (event === 'command.queued') note('queued', String(fields.command_id));
    },
    socket(socket) {
      socket.on('message', (text) => {
        if (marks !== null && String(text).includes('relay.control')) note('control-arrived');
      });
      const send = socket.send.bind(socket) as (...all: unknown[]) => void;
      socket.send = (...all: unknown[]) => {
        if (marks !== null && String(all[0]).includes('"commands":[{')) note('sync-written');
        send(...all);
      };
    },
  },
);
