// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of the file are what is tested here
import t from 'tap';
import { type HttpServer, type ProcessServer, parseToolConfig } from '../../desktop-agent/tools/tool-config.ts';

const ENVIRONMENT = { HOME: '/srv/ann', WEB_TOKEN: 'w-secret-0123', EMPTY: '', GRAPH_RELAY_TOKEN: 'grd_mine' };

function parse(servers: object, environment: Record<string, string | undefined> = ENVIRONMENT) {
  return parseToolConfig(JSON.stringify({ mcpServers: servers }), environment);
}

/** The problem of the only server. */
function problemOf(server: unknown, name = 'files'): string {
  const { servers, problems } = parse({ [name]: server });
  if (servers.length > 0) return 'none';
  return problems[0]?.problem ?? 'none';
}

t.test('the form that people know: programs, and addresses', async (t) => {
  const { servers, problems } = parse({
    files: {
      command: 'npx',
      args: ['-y', 'server', '${HOME}/files'],
      env: { A: '1' },
      cwd: '/srv',
      alwaysAllow: ['read'],
    },
    web: { url: 'http://127.0.0.1:3001/mcp', headers: { Authorization: 'Bearer ${WEB_TOKEN}' }, timeout: 300_000 },
    typed: { type: 'stdio', command: 'server' },
    streamed: { type: 'http', url: 'https://tools.example/mcp' },
    off: { command: 'server', disabled: true },
  });
  t.same(problems, []);
  t.same(
    servers.map(({ name, kind }) => [name, kind]),
    [
      ['files', 'stdio'],
      ['web', 'http'],
      ['typed', 'stdio'],
      ['streamed', 'http'],
    ],
  );
  const [files, web] = servers as [ProcessServer, HttpServer];
  t.match(files, {
    command: 'npx',
    args: ['-y', 'server', '/srv/ann/files'],
    env: { A: '1' },
    cwd: '/srv',
    timeoutMs: null,
  });
  t.equal(web.url.href, 'http://127.0.0.1:3001/mcp');
  t.match(web, { headers: { Authorization: 'Bearer w-secret-0123' }, timeoutMs: 300_000 });
});

t.test('a variable comes from the environment, or from what stands behind :-', async (t) => {
  const { servers } = parse({
    a: { command: '${PROGRAM:-server}', args: ['${HOME}${EMPTY:-/x}', '$HOME', '${}', '${ A}'] },
  });
  t.match(servers, [{ command: 'server', args: ['/srv/ann/x', '$HOME', '${}', '${ A}'] }]);
  t.match(
    problemOf({ command: 'a', args: ['${NOT_SET}'] }),
    /^\$\{NOT_SET\} is not set: set the variable for the desktop/,
  );
  t.match(problemOf({ command: 'a', env: { A: '${EMPTY}' } }), /\$\{EMPTY\} is not set/);
  t.match(problemOf({ command: 'a', args: ['${toString}'] }), /not set/, 'what every object has is no variable');
});

t.test('what lets this desktop in is given to no server, by whatever way', async (t) => {
  const said = /\$\{GRAPH_RELAY_TOKEN\} is not given to tool servers/;
  for (const server of [
    { command: 'a', env: { T: '${GRAPH_RELAY_TOKEN}' } },
    { command: 'a', args: ['--token=${GRAPH_RELAY_TOKEN:-x}'] },
    { url: 'http://127.0.0.1/mcp', headers: { T: '${GRAPH_RELAY_TOKEN}' } },
  ]) {
    t.match(problemOf(server), said);
  }
  t.match(problemOf({ command: 'a', env: { T: '${GRAPH_RELAY_OWNER_PASSWORD}' } }), /is not given/);
});

const MISTAKES: readonly (readonly [server: unknown, says: RegExp])[] = [
  [{}, /^give either "command", a program that is started, or "url"/],
  [{ command: 'a', url: 'http://x/' }, /give either/],
  [{ command: '' }, /^command: /],
  [{ command: 1 }, /^command: /],
  [{ command: 'a', args: 'x' }, /^args: /],
  [{ command: 'a', args: [1] }, /^args\.0: /],
  [{ command: 'a', env: { A: 1 } }, /^env\.A: /],
  [{ command: 'a', timeout: 10 }, /^timeout: /],
  [{ command: 'a\0' }, /NUL/],
  [{ type: 'sse', url: 'http://x/' }, /"sse" was replaced by Streamable HTTP/],
  [{ type: 'websocket', url: 'http://x/' }, /no type "websocket"/],
  [{ type: 'stdio', url: 'http://x/' }, /"stdio" needs "command"/],
  [{ type: 'http', command: 'a' }, /"http" needs "url"/],
  [{ url: 'localhost:3001' }, /begins with http/],
  [{ url: 'file:///etc/passwd' }, /begins with http/],
  [{ url: 'http://x/', headers: { 'a b': 'c' } }, /HTTP does not allow/],
  [{ url: 'http://x/', headers: { a: 'b\nc: d' } }, /HTTP does not allow/],
  ['npx', /its entry: /],
  [null, /its entry: /],
];

for (const [server, says] of MISTAKES) {
  t.test(`a mistake is named: ${JSON.stringify(server)}`, async (t) => {
    t.match(problemOf(server), says);
  });
}

t.test('a server whose name has no place in a tool name is left out, and the others are there', async (t) => {
  const { servers, problems } = parse({
    'my.files': { command: 'a' },
    'b c': { command: 'a' },
    fine: { command: 'a' },
  });
  t.same(
    servers.map(({ name }) => name),
    ['fine'],
  );
  t.match(problems, [
    { server: 'my.files', problem: /a server is called by 1-64 letters, digits, dashes or underscores: rename it/ },
    { server: 'b c' },
  ]);
});

t.test('a file that is none says where, and never what stands there', async (t) => {
  const text = '{"mcpServers": {\n  "web": {"url": "http://x/", "headers": {"A": "t0p-secret" "B": 1}}\n}}';
  const { servers, problems } = parseToolConfig(text, {});
  t.same(servers, []);
  t.match(problems, [{ server: null, problem: /^it is not JSON: look at line 2, column \d+$/ }]);
  t.notMatch(JSON.stringify(problems), /t0p-secret/);
  for (const other of ['[]', 'null', '{}', '{"mcpServers": []}', '{"servers": {}}', '{"mcpServers": 1}']) {
    t.match(parseToolConfig(other, {}).problems, [{ server: null, problem: /it has no "mcpServers"/ }], other);
  }
});

t.test('what is secret in a server is known, wherever it stands, and paths are not', async (t) => {
  const { servers } = parse(
    {
      a: {
        command: 'a',
        args: ['--key=${API_KEY}', '${HOME}/files'],
        env: {
          TOKEN: 'literal-token-1',
          ROOT: '/srv/projects',
          HOME: 'not-a-secret',
          SHORT: 'yes',
          PEM: 'first-line\nsecond-line',
        },
      },
      b: {
        url: 'https://user-name:pass-word@x.example/mcp?key=query-key',
        headers: { Authorization: 'Bearer head-secret' },
      },
    },
    { HOME: '/srv/ann', API_KEY: 'from-the-environment' },
  );
  const [a, b] = servers.map(({ secrets }) => secrets);
  const inA =
    'from-the-environment literal-token-1 first-line second-line /srv/projects /srv/ann/files not-a-secret yes';
  t.equal(a?.clear(inA), '[redacted] [redacted] [redacted] [redacted] /srv/projects /srv/ann/files not-a-secret yes');
  t.equal(
    b?.clear('user-name pass-word query-key Bearer head-secret, head-secret'),
    '[redacted] [redacted] [redacted] [redacted], [redacted]',
  );
});
