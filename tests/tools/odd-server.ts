/**
 * A tool server that misbehaves as it is told, by its arguments and by its tools. Speaks by lines, without any library:
 * what a library would prevent is what it is for.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Record<string, unknown>;
    readonly requestId?: number;
  };
}

const MODES = new Set(process.argv.slice(2));
/** Whether it still hears anything. */
let hears = true;

if (MODES.has('deaf')) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 60_000);
}
if (MODES.has('dies')) {
  process.stderr.write(`cannot open the door with ${process.env.ODD_SECRET}\n`);
  process.exit(7);
}
if (MODES.has('mute')) hears = false;

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

function text(id: number | undefined, value: string): void {
  say({ id, result: { content: [{ type: 'text', text: value }] } });
}

const TOOLS = [
  'pid',
  'crash',
  'hang',
  'deafen',
  'large',
  'huge',
  'flood',
  'child',
  'slow',
  'fails',
  'empty',
  'deep',
  'chatter',
  'leak',
];
const ODD_NAMES = ['has space', 'has*star', '', 'x'.repeat(129), 'ümlaut', 'fine.name/with-all_0'];

/** What was cancelled, for a test to read. */
const cancelled: number[] = [];

type Call = (id: number | undefined, input: Record<string, unknown>) => void;

const CALLS: Readonly<Record<string, Call>> = {
  pid: (id) => text(id, String(process.pid)),
  crash: () => process.exit(3),
  hang: (id) => process.stderr.write(`call ${id} hangs\n`),
  deafen: (id) => {
    hears = false;
    process.stderr.write(`call ${id} deafens\n`);
  },
  large: (id, { chars }) => text(id, 'x'.repeat(Number(chars))),
  huge: (_id, { bytes }) => void process.stdout.write('y'.repeat(Number(bytes))),
  flood: (id, { lines }) => {
    for (let n = 0; n < Number(lines); n++) process.stderr.write(`line ${n} \u001b[2J ${process.env.ODD_SECRET}\n`);
    process.stderr.write(`${'z'.repeat(100_000)}\n`);
    text(id, 'said');
  },
  child: (id) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)'], { stdio: 'ignore' });
    text(id, `${process.pid} ${child.pid}`);
  },
  /** Tells of its progress until it is told to end by a file that is there. */
  slow: (id, { steps }) => {
    for (let n = 1; n <= Number(steps); n++) {
      say({ method: 'notifications/progress', params: { progressToken: id, progress: n } });
    }
    text(id, 'done');
  },
  fails: (id) =>
    say({ id, result: { isError: true, content: [{ type: 'text', text: `no: ${process.env.ODD_SECRET}` }] } }),
  empty: (id) => say({ id, result: { content: [] } }),
  deep: (id) => {
    let value: unknown = 1;
    for (let n = 0; n < 80; n++) value = [value];
    say({ id, result: { content: [], structuredContent: { value } } });
  },
  chatter: (id) => {
    process.stdout.write('words for people\n{"json": "but no message"}\n');
    text(id, 'and an answer');
  },
  leak: (id) => say({ id, error: { code: -32_000, message: `it is ${process.env.ODD_SECRET}` } }),
};

function greet(id: number | undefined): void {
  const capabilities = MODES.has('no-tools') ? {} : { tools: { listChanged: true } };
  const result = { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'odd', version: '1' } };
  say(MODES.has('modern') ? { id, error: { code: -32_601, message: 'Method not found' } } : { id, result });
}

function answer({ id, method, params }: Message): void {
  if (method === 'initialize') greet(id);
  if (method === 'notifications/cancelled') cancelled.push(params?.requestId ?? -1);
  if (method === 'tools/list') {
    const names = MODES.has('odd-names') ? ODD_NAMES : TOOLS;
    say({ id, result: { tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) } });
  }
  if (method === 'tools/call') CALLS[params?.name ?? '']?.(id, params?.arguments ?? {});
}

createInterface({ input: process.stdin }).on('line', (line) => {
  if (!hears) return;
  const message = JSON.parse(line) as Message;
  answer(message);
  const file = process.env.ODD_CANCELLED;
  if (file !== undefined && message.method === 'notifications/cancelled') writeFileSync(file, cancelled.join(' '));
});
