/** What models read: few words, everything that they need next, and nothing twice. */
import t from 'tap';
import type { ListedSession, RunTicket, RunView, SessionList } from '../../server/agent-api.ts';
import { listText, runText, ticketText } from '../../server/mcp/answer-text.ts';
import { readRunSchema, runSchema, sessionListSchema, ticketSchema } from '../../server/mcp/tool-output.ts';
import { TOOLS } from '../../server/mcp/tools.ts';
import { COMMAND, callTool, createWorld, ERAS, runView, SESSION } from './fixtures.ts';

const QUEUED_AT = Date.parse('2026-11-08T10:00:00.000Z');
const READ = { command_id: COMMAND };

/**
 * Tokens, counted too high rather than too low: each word, each three digits and each other character is one. Models'
 * tokenizers join more than that (about four characters a token in English and JSON).
 */
function tokensOf(text: string): number {
  return text.match(/[a-z]+|\d{1,3}|[^\sa-z\d]/gi)?.length ?? 0;
}

function running(changes: Partial<RunView> = {}): Partial<RunView> {
  const { timing } = runView();
  return { status: 'running', ahead: null, timing: { ...timing, started_at: timing.queued_at }, ...changes };
}

const ASKED = { tool: 'files.write_file', since: '2026-11-08T10:00:02.000Z' };

for (const era of ERAS) {
  t.test(
    `a run that goes on as it did costs fewer than 60 tokens, in words and data together, in ${era}`,
    async (t) => {
      const world = createWorld();
      const waits = [
        [running(), [0, 50, 600]],
        [{ ahead: 99, check_after_seconds: 300 }, [0, 50]],
      ] as const;
      for (const [run, seconds] of waits) {
        world.api.run = run;
        const first = await callTool(world, era, ['get_graph_run', READ]);
        t.equal(first.structuredContent.command_id, COMMAND);
        for (const wait_seconds of seconds) {
          const next = await callTool(world, era, ['get_graph_run', { ...READ, wait_seconds }]);
          const { status, check_after_seconds } = runView(run);
          t.match(next.structuredContent, { status, unchanged: true, check_after_seconds });
          t.match(
            next.content[0].text,
            new RegExp(`^Still ${status} \\(\\d+ s\\)\\. Look again in ${check_after_seconds} s\\.$`),
          );
          const tokens = tokensOf(next.content[0].text) + tokensOf(JSON.stringify(next.structuredContent));
          t.ok(tokens < 60, `${tokens} tokens`);
          t.equal(next.structuredContent.wait_seconds_granted, wait_seconds > 50 ? 50 : undefined);
        }
      }
    },
  );

  t.test(`a run that waits for its owner says so in fewer than 60 tokens, in ${era}`, async (t) => {
    const world = createWorld();
    world.api.run = running({ awaiting_approval: ASKED });
    const first = await callTool(world, era, ['get_graph_run', READ]);
    t.strictSame(first.structuredContent.awaiting_approval, ASKED);
    const next = await callTool(world, era, ['get_graph_run', READ]);
    t.match(next.structuredContent, { status: 'running', unchanged: true });
    t.strictSame(
      world.api.calls.map(({ request }) => request.known),
      [null, ASKED],
      'a wait begins with what was told',
    );
    t.match(next.content[0].text, /^Still running \(\d+ s\), and waits for its owner\. Look again in 10 s\.$/);
    const tokens = tokensOf(next.content[0].text) + tokensOf(JSON.stringify(next.structuredContent));
    t.ok(tokens < 60, `${tokens} tokens`);
  });

  t.test(`each change is told in full, once, in ${era}`, async (t) => {
    const world = createWorld();
    const unchanged = async () => (await callTool(world, era, ['get_graph_run', READ])).structuredContent.unchanged;
    await callTool(world, era, ['run_graph_session', { graph_session_id: SESSION, idempotency_key: 'key-12345' }]);
    t.equal(await unchanged(), true, 'the ticket has said it');
    const { desktop } = runView();
    const changes: Partial<RunView>[] = [
      { ahead: 1 },
      { desktop: { ...desktop, online: false } },
      running(),
      running({ awaiting_approval: ASKED }),
      running({ awaiting_approval: { ...ASKED, since: '2026-11-08T10:05:00.000Z' } }),
      running({ cancel_requested: true }),
    ];
    for (const run of changes) {
      world.api.run = run;
      t.equal(await unchanged(), undefined, JSON.stringify(run));
      t.equal(await unchanged(), true);
    }
    world.api.run = { status: 'completed', result: 'done', check_after_seconds: null };
    t.equal(await unchanged(), undefined);
    t.equal(await unchanged(), undefined, 'an end is told as often as it is asked for');
  });
}

const WORDS: readonly (readonly [string, Partial<RunView>, RegExp])[] = [
  [
    'queued',
    { ahead: 2 },
    /^Queued for 3 s, 2 ahead of it; desktop online over long-poll\. Call get_graph_run with wait/,
  ],
  ['running', running(), /^Running for 3 s\. Call get_graph_run with wait_seconds, or in 10 s\.$/],
  ['a stop', running({ cancel_requested: true }), /^Running for 3 s\. A stop was asked for\. /],
  [
    'waiting for its owner',
    running({ awaiting_approval: ASKED }),
    /^Running for 3 s\. It waits for the owner's approval of tool files\.write_file since 2026-11-08T10:00:02\.000Z; all you can do is wait or cancel\. Call get_graph_run/,
  ],
  ['completed', { status: 'completed', result: 1, total_tokens: 32 }, /^Completed, 32 tokens\. Its result follows\.$/],
  [
    'cut',
    { status: 'completed', result_truncated: true, result_chars: 250_000, result_limit_chars: 100_000 },
    /250000 ch/,
  ],
  ['failed', { status: 'failed', error: 'the Graph threw' }, /^Failed: the Graph threw$/],
  ['expired', { status: 'expired', error: 'too late' }, /^Expired: too late$/],
];

for (const [name, changes, expected] of WORDS) {
  t.test(`a run that is ${name} is put into words`, async (t) => {
    t.match(runText(runView(changes), QUEUED_AT + 3_000), expected);
  });
}

t.test('a ticket names its id, a replay, and a twin that waits', async (t) => {
  const ticket: RunTicket = { ...runView(), replayed: true, identical_waiting_run: SESSION };
  const text = ticketText(ticket, QUEUED_AT);
  for (const part of [COMMAND, 'This key was used before', SESSION]) t.ok(text.includes(part), part);
});

const { desktop } = runView();
const listed: ListedSession = {
  graph_session_id: SESSION,
  name: 'Report',
  description: 'Weekly report',
  slug: 'report',
  version: 1,
  status: 'ready',
  desktop,
  typical_run: { median_ms: 61_400, runs: 5 },
};

t.test('a list says of each session what one needs to choose it', async (t) => {
  const list: SessionList = {
    project_id: 'home',
    sessions: [listed, { ...listed, status: 'broken', description: '', typical_run: null }],
    active_runs: [{ command_id: COMMAND, graph_session_id: SESSION, status: 'running', age_seconds: 7 }],
  };
  t.equal(
    listText(list),
    `2 Graph sessions in project home:
${SESSION} "Report": Weekly report [desktop online over long-poll, usually takes 61 s]
${SESSION} "Report" (broken) [desktop online over long-poll]
Your runs that have not ended:
${COMMAND} of ${SESSION}: running, queued 7 s ago`,
  );
  const [run] = list.active_runs!;
  const asked = listText({ ...list, active_runs: [{ ...run!, awaiting_approval: ASKED }] });
  t.match(
    asked,
    `running, queued 7 s ago, waits for the owner's approval of tool files.write_file since ${ASKED.since}`,
  );
  t.match(listText({ project_id: 'home', sessions: [] }), /^Nothing is shared with project home\. The owner shares/);
});

t.test('the words of a list stay short, however much its Graphs say of themselves', async (t) => {
  const description = `Sends ${'x'.repeat(1_994)}`;
  const properties = { to: { type: 'string', description: 'y'.repeat(1_900) } };
  const long = { ...listed, description, arguments_schema: { type: 'object', properties } };
  const sessions = Array.from({ length: 50 }, () => long);
  const text = listText({ project_id: 'home', sessions });
  t.match(text, /"Report": Sends x{500,}… \[desktop online/);
  t.ok(text.includes(JSON.stringify(long.arguments_schema)), 'without all of it, a call could be wrong');
  t.ok(text.length < 50 * 2_800, `${text.length} characters`);
});

t.test('a desktop that is away is told with what is known of it', async (t) => {
  const away = { ...desktop, online: false, transport: null };
  const at = '2026-11-08T09:00:00.000Z';
  const text = (changes: object) => runText(runView({ desktop: { ...away, ...changes } }), QUEUED_AT);
  t.match(text({ asleep: true, asleep_since: at }), `desktop asleep since ${at}`);
  t.match(text({ last_seen_at: at }), `desktop offline, last seen ${at}`);
  t.match(text({ last_seen_at: null }), 'desktop offline.');
});

t.test('the published shapes are those of the answers', async (t) => {
  const views = [
    runView(),
    runView({ status: 'completed', result: { a: 1 }, check_after_seconds: null }),
    runView(running({ awaiting_approval: ASKED })),
  ];
  for (const view of views) {
    t.ok(runSchema.safeParse(view).success);
    t.ok(readRunSchema.safeParse(view).success);
    t.ok(ticketSchema.safeParse({ ...view, replayed: false }).success);
    t.notOk(ticketSchema.safeParse(view).success, 'a ticket says whether it was replayed');
  }
  t.ok(readRunSchema.safeParse({ status: 'running', unchanged: true, for_seconds: 3, check_after_seconds: 1 }).success);
  t.notOk(runSchema.safeParse(runView({ awaiting_approval: { tool: 'a.b' } as never })).success);
  t.ok(sessionListSchema.safeParse({ project_id: 'home', sessions: [listed] }).success);
  for (const { listed: tool } of TOOLS.values())
    t.match(tool.outputSchema, { type: 'object', properties: {} }, tool.name);
});
