import t from 'tap';
import { TOOLS } from '../../server/mcp/tools.ts';
import { answerOf, createWorld, ERAS, message, postOf } from './fixtures.ts';

/** What we take besides: optional, so that a caller of the published tool is served as before. */
const ADDED = { type: 'integer', minimum: 1, maximum: 604_800 };

/** run_graph_session as the public endpoint lists it, word for word. */
const PUBLISHED = {
  name: 'run_graph_session',
  description:
    "Queue a Graph run on the owner's online desktop in a connected project. Retrieve progress and result with get_graph_run. The desktop can go offline, and local tool approvals still apply.",
  inputSchema: {
    properties: {
      graph_session_id: { type: 'string' },
      arguments: { type: 'object' },
      idempotency_key: { type: 'string', minLength: 8, maxLength: 128 },
    },
    required: ['graph_session_id', 'idempotency_key'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true },
  securitySchemes: [{ type: 'oauth2', scopes: ['osfoundry:run'] }],
};

async function listed(era: (typeof ERAS)[number]) {
  const { endpoint } = createWorld();
  const { result } = await answerOf(await endpoint.fetch(postOf(message(era, 'tools/list'))));
  return result;
}

for (const era of ERAS) {
  t.test(`run_graph_session is listed as published, and one optional input, to clients of ${era}`, async (t) => {
    const { title, _meta, outputSchema, ...tool } = (await listed(era)).tools[1];
    const { start_within_seconds, ...properties } = tool.inputSchema.properties;
    const { description, ...bounds } = start_within_seconds;
    t.strictSame(bounds, ADDED);
    t.type(description, 'string');
    tool.inputSchema.properties = properties;
    // The published listing was trimmed; the protocol requires the schema's own type.
    t.strictSame(tool, { ...PUBLISHED, inputSchema: { type: 'object', ...PUBLISHED.inputSchema } });
    t.type(title, 'string');
    t.match(outputSchema, { type: 'object', properties: { command_id: { type: 'string' } } });
    t.strictSame(_meta, { securitySchemes: PUBLISHED.securitySchemes });
  });

  t.test(`the four tools carry their scopes at both places and their hints, to clients of ${era}`, async (t) => {
    const { tools } = await listed(era);
    t.strictSame(
      tools.map((tool: Record<string, unknown>) => [tool.name, tool.securitySchemes]),
      [
        ['list_graph_sessions', [{ type: 'oauth2', scopes: ['osfoundry:read'] }]],
        ['run_graph_session', [{ type: 'oauth2', scopes: ['osfoundry:run'] }]],
        ['get_graph_run', [{ type: 'oauth2', scopes: ['osfoundry:read'] }]],
        ['cancel_graph_run', [{ type: 'oauth2', scopes: ['osfoundry:run'] }]],
      ],
    );
    for (const tool of tools) {
      t.strictSame(tool._meta.securitySchemes, tool.securitySchemes);
      t.equal(tool.inputSchema.additionalProperties, false);
      t.equal(tool.annotations.readOnlyHint, tool.securitySchemes[0].scopes[0] === 'osfoundry:read');
    }
  });
}

t.test('the siblings of run_graph_session publish their inputs', async (t) => {
  const { tools } = await listed('2025');
  const inputs = new Map(tools.map((tool: { name: string; inputSchema: unknown }) => [tool.name, tool.inputSchema]));
  t.match(inputs.get('list_graph_sessions'), {
    type: 'object',
    properties: { project_id: { type: 'string' }, limit: { type: 'integer', minimum: 1, maximum: 50 } },
    required: undefined,
  });
  t.match(inputs.get('get_graph_run'), {
    properties: { command_id: { type: 'string' }, wait_seconds: { type: 'number', minimum: 0, maximum: 50 } },
    required: ['command_id'],
  });
  t.match(inputs.get('cancel_graph_run'), {
    properties: { command_id: { type: 'string' } },
    required: ['command_id'],
  });
});

t.test('each description names the tool to call next, or was published without', (t) => {
  for (const [name, { listed }] of TOOLS) {
    const others = [...TOOLS.keys()].filter((other) => other !== name);
    t.ok(
      others.some((other) => listed.description.includes(other)),
      name,
    );
    t.ok(listed.description.length < 260, `${name} is short`);
  }
  t.end();
});

t.test('clients of 2026 may keep the list for a while and share it', async (t) => {
  t.match(await listed('2026'), { ttlMs: 600_000, cacheScope: 'public' });
});
