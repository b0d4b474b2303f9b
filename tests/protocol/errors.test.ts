/** The table of errors, and what is left of an error on the wire: its code and its text, never a stack. */
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client';
import { TRPCError } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { getHTTPStatusCodeFromError } from '@trpc/server/http';
import t from 'tap';
import { type CallContext, createRelayRouter, type RelayRouter, TRPC_PATH } from '../../protocol/api.ts';
import { asRelayError, ERRORS, type ErrorCode, isErrorCode, RelayError } from '../../protocol/errors.ts';
import { errorFromWire } from '../../protocol/trpc-errors.ts';
import { COMMAND, EXECUTION } from './lives.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];
const RETRY = new Set(['never', 'now', 'backoff', 'reauthenticate', 'redial']);
/** Raised by a caller when nobody answered: no server ever sends them. */
const CALLING_SIDE: ReadonlySet<string> = new Set(['deadline-exceeded', 'unreachable', 'not-a-relay']);

/** A server whose every call fails with this error. */
function failing(error: unknown) {
  const fail = async () => {
    throw error;
  };
  const router = createRelayRouter({
    sync: fail,
    control: fail,
    complete: fail,
    probe: fail,
    unreadableCompletion: async () => {},
  });
  const context: CallContext = { desktopId: 'd', transport: 'plain', signal: new AbortController().signal };
  return (req: Request) => fetchRequestHandler({ endpoint: TRPC_PATH, req, router, createContext: () => context });
}

function post(path: string, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) {
  return new Request(`http://relay.test${TRPC_PATH}/${path}`, { method: 'POST', body, headers });
}

const CONTROL = { command_id: COMMAND, execution_id: EXECUTION, phase: 'starting' as const, hold_ms: 0 };

async function wireOf(error: unknown) {
  const response = await failing(error)(post('relay.control', JSON.stringify(CONTROL)));
  const text = await response.text();
  return { status: response.status, text, json: JSON.parse(text) as { error: { message: string; data: unknown } } };
}

t.test('each row of the table is complete', async (t) => {
  for (const code of CODES) {
    const { retry, trpc, http, wsClose } = ERRORS[code];
    t.ok(RETRY.has(retry), `${code} has a retry class`);
    t.ok(trpc.length > 0, code);
    t.ok(http >= 400 && http <= 599, `${code} is an HTTP error`);
    const reserved = [1006, 1009, 1011, 1012].includes(wsClose);
    t.ok(reserved || (wsClose >= 4000 && wsClose <= 4999), `${code} closes a socket with a code that it may use`);
  }
});

t.test('no two codes close a socket alike', async (t) => {
  t.equal(new Set(CODES.map((code) => ERRORS[code].wsClose)).size, CODES.length);
});

t.test("the HTTP status of each code is the one that tRPC's own table has for it", async (t) => {
  for (const code of CODES.filter((code) => !CALLING_SIDE.has(code))) {
    t.equal(ERRORS[code].http, getHTTPStatusCodeFromError(new TRPCError({ code: ERRORS[code].trpc })), code);
  }
});

t.test('an error class says what a retry is good for', async (t) => {
  const of = (retry: string) => CODES.filter((code) => ERRORS[code].retry === retry).sort();
  t.same(of('reauthenticate'), ['unauthorized']);
  t.same(of('redial'), ['deadline-exceeded', 'shutting-down']);
  t.same(of('backoff'), [
    'internal',
    'not-a-relay',
    'queue-full',
    'store-unavailable',
    'too-many-held',
    'too-many-requests',
    'unreachable',
  ]);
  for (const code of of('never')) t.ok(ERRORS[code].http < 500, `${code} is the caller's`);
});

t.test('a code is known only when it stands in the table itself (C121)', async (t) => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', ' ', null, undefined, 1]) {
    t.notOk(isErrorCode(name), String(name));
  }
  t.ok(isErrorCode('internal'));
});

for (const code of CODES.filter((code) => !CALLING_SIDE.has(code))) {
  t.test(`${code} reaches the other side with its status, code and text`, async (t) => {
    const { status, json } = await wireOf(new RelayError(code, `it is ${code}`));
    t.equal(status, ERRORS[code].http);
    t.equal(json.error.message, `it is ${code}`);
    t.same(json.error.data, { relayCode: code, httpStatus: ERRORS[code].http });
    t.equal(errorFromWire(json.error)?.code, code);
    t.equal(errorFromWire(json.error)?.retry, ERRORS[code].retry);
  });
}

t.test('an unknown error becomes internal, with a neutral text and without its stack', async (t) => {
  const secret = 'password=hunter2';
  const faults = [new Error(secret), new TypeError(secret, { cause: new Error(secret) }), secret, null, undefined, 7];
  for (const fault of faults) {
    const { status, text, json } = await wireOf(fault);
    t.equal(status, 500);
    t.match(json.error.data, { relayCode: 'internal' });
    t.match(json.error.message, /^The relay failed to handle the request/);
    t.notMatch(text, /hunter2|stack|errors\.test|node_modules/);
  }
  t.equal(asRelayError(faults[0]).cause, faults[0], 'the log still gets the cause');
});

t.test('no error carries a stack or a path over the wire', async (t) => {
  const { text } = await wireOf(new RelayError('forbidden', 'no', { cause: new Error('inner') }));
  t.notMatch(text, /stack|inner|\.ts|"path"/);
});

t.test('a refused input is named by its path, and its value is not repeated', async (t) => {
  const bad = JSON.stringify({ ...CONTROL, command_id: 'gra_secret-token', phase: 'dancing', hold_ms: -1, epoch: 0 });
  const response = await failing(new Error('never reached'))(post('relay.control', bad));
  t.equal(response.status, 400);
  const { error } = (await response.json()) as { error: { message: string; data: { relayCode: string } } };
  t.equal(error.data.relayCode, 'invalid-input');
  t.match(error.message, /command_id: is not an id/);
  t.match(error.message, /phase: /);
  t.match(error.message, /and 1 more/);
  t.notMatch(error.message, /secret/);
});

t.test('whatever is no call of ours is refused as input, never as a fault (C39)', async (t) => {
  const serve = failing(new Error('never reached'));
  const json = { 'content-type': 'application/json' };
  const requests: [string, Request][] = [
    ['no JSON', post('relay.control', '{')],
    ['no body', post('relay.control', '')],
    ['an array', post('relay.control', '[]')],
    ['null', post('relay.control', 'null')],
    ['another name', post('relay.nothing', '{}')],
    ['a name of the language', post('__proto__', '{}')],
    ['a constructor', post('relay.constructor', '{}')],
    ['another type', post('relay.control', 'a=b', { 'content-type': 'text/plain' })],
    ['a query', new Request(`http://relay.test${TRPC_PATH}/relay.control?input=%7B%7D`, { headers: json })],
  ];
  for (const [name, request] of requests) {
    const response = await serve(request);
    const text = await response.text();
    t.equal(response.status, 400, name);
    t.equal(
      (JSON.parse(text) as { error: { data: { relayCode: string } } }).error.data.relayCode,
      'invalid-input',
      name,
    );
    t.notMatch(text, /stack|\.ts:/, name);
  }
});

t.test('the typed client sees the code of an error, and a foreign error has none', async (t) => {
  const serve = failing(new RelayError('unknown-command', 'gone'));
  const client = createTRPCClient<RelayRouter>({
    links: [
      httpLink({
        url: `http://relay.test${TRPC_PATH}`,
        fetch: (input, init) => serve(new Request(input as string, init as RequestInit)),
      }),
    ],
  });
  const error = await client.relay.control.mutate(CONTROL).catch((caught: unknown) => caught);
  t.ok(error instanceof TRPCClientError);
  t.equal(errorFromWire(error as TRPCClientError<RelayRouter>)?.code, 'unknown-command');
  for (const data of [undefined, null, {}, { relayCode: 'toString' }, { relayCode: '__proto__' }, { relayCode: 3 }]) {
    t.equal(errorFromWire({ message: 'from elsewhere', data }), null);
  }
});
