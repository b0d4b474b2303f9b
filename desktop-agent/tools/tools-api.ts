/**
 * What the owner's command line may ask about tools: servers, permissions, open questions, decisions.
 *
 * Owns the answers' shapes (snake_case, as `--json` prints them). Nothing of a server's configuration is shown but its
 * name, kind and place: the rest may be secret.
 */
import { z } from 'zod';
import { RelayError } from '../../protocol/errors.ts';
import { localTrpc } from '../../protocol/host/local-calls.ts';
import { answering } from '../../protocol/trpc-errors.ts';
import { approvalScopeSchema } from '../run-events.ts';
import type { OpenApproval } from './approvals.ts';
import type { DesktopTools } from './desktop-tools.ts';
import { type PermissionRule, type Permissions, permissionRuleSchema } from './permissions.ts';
import type { ConfigProblem, ServerConfig } from './tool-config.ts';
import { isOwnName, isPattern, matches, TOOL_NAME_RULE } from './tool-names.ts';
import type { ServerState, ToolServer } from './tool-server.ts';
import type { ToolServers } from './tool-servers.ts';

export interface ShownTool {
  /** `server.tool`. */
  readonly name: string;
  readonly description: string;
  readonly permission: PermissionRule;
  /** The owner's entry that says so; null when there is none. */
  readonly set_by: string | null;
  /** Why no Graph can call it; null when one can. */
  readonly problem: string | null;
}

export interface ShownServer {
  readonly name: string;
  readonly kind: ServerConfig['kind'];
  /** The program, or the origin of the address. */
  readonly place: string;
  readonly state: ServerState;
  readonly problem: string | null;
  /** Null when they are not known: the server does not start, or the desktop does not run. */
  readonly tools: readonly ShownTool[] | null;
}

export interface ShownEntry {
  readonly pattern: string;
  readonly rule: PermissionRule;
}

export interface ShownTools {
  readonly config: string;
  readonly problems: readonly ConfigProblem[];
  readonly servers: readonly ShownServer[];
  readonly permissions: readonly ShownEntry[];
}

export interface PermitAnswer {
  readonly pattern: string;
  readonly rule: PermissionRule | null;
  /** False when it was that way before. */
  readonly changed: boolean;
  /** Tools that it stands for, of the servers that run now; null when the desktop does not run. */
  readonly tools: readonly string[] | null;
  /** Questions that it has answered. */
  readonly decided: readonly OpenApproval[];
}

const decideSchema = z.object({
  approval: z.string().max(100).optional(),
  decision: z.enum(['allow', 'deny']),
  scope: approvalScopeSchema,
});
export type DecideInput = z.infer<typeof decideSchema>;

const permitSchema = z.object({ pattern: z.string(), rule: permissionRuleSchema });
export type PermitInput = z.infer<typeof permitSchema>;

export interface ToolsAdmin {
  list(): Promise<ShownTools>;
  /** The owner's entries alone: no server is started for them. */
  permissions(): Promise<readonly ShownEntry[]>;
  permit(input: PermitInput): Promise<PermitAnswer>;
  /** Takes an entry back. */
  forget(pattern: string): Promise<PermitAnswer>;
  /** Null when the desktop does not run: then nothing waits. */
  approvals(): Promise<readonly OpenApproval[] | null>;
  decide(input: DecideInput): Promise<readonly OpenApproval[]>;
}

const NEVER = new AbortController().signal;

/** On the running desktop: its servers are started to be asked for their tools. */
export function createToolsAdmin(tools: DesktopTools): ToolsAdmin {
  const { servers, permissions, approvals, limits } = tools;
  const shown = async (server: ToolServer): Promise<ShownServer> => {
    const { name } = server.config;
    const known = await server.tools(NEVER).catch(() => null);
    const { state, problem } = server;
    const list = known?.map(({ name: own, description }) =>
      shownTool(`${name}.${own}`, { own, description: description.slice(0, limits.descriptionChars), permissions }),
    );
    return { ...placeOf(server.config), state, problem, tools: list ?? null };
  };
  const changed = async (pattern: string): Promise<Pick<PermitAnswer, 'tools' | 'decided'>> => {
    const decided = approvals.reconsider();
    const running = (await servers.list()).filter(({ state }) => state === 'running');
    const names = (await Promise.all(running.map(shown))).flatMap((server) => server.tools ?? []);
    return { decided, tools: names.map(({ name }) => name).filter((name) => matches(pattern, name)) };
  };
  return {
    list: async () => shownTools(servers, permissions, await Promise.all((await servers.list()).map(shown))),
    permissions: async () => entriesOf(permissions),
    async permit({ pattern, rule }) {
      const isNew = await permitted(permissions, { pattern, rule });
      return { pattern, rule, changed: isNew, ...(await changed(pattern)) };
    },
    async forget(pattern) {
      const was = await permissions.forget(pattern);
      return { pattern, rule: null, changed: was, ...(await changed(pattern)) };
    },
    approvals: async () => approvals.list(),
    decide: (input) => approvals.decide(input),
  };
}

/** On the data folder of a desktop that does not run: nothing is started, and nothing waits. */
export function createRestingToolsAdmin(servers: ToolServers, permissions: Permissions): ToolsAdmin {
  const nothing = { tools: null, decided: [] };
  return {
    async list() {
      const list = await servers.list();
      const resting = { state: 'not-started', problem: null, tools: null } as const;
      return shownTools(
        servers,
        permissions,
        list.map(({ config }) => ({ ...placeOf(config), ...resting })),
      );
    },
    permissions: async () => entriesOf(permissions),
    permit: async ({ pattern, rule }) => ({
      pattern,
      rule,
      changed: await permitted(permissions, { pattern, rule }),
      ...nothing,
    }),
    forget: async (pattern) => ({ pattern, rule: null, changed: await permissions.forget(pattern), ...nothing }),
    approvals: async () => null,
    decide: () => Promise.reject(new RelayError('invalid-input', 'The desktop does not run, so nothing waits.')),
  };
}

function permitted(permissions: Permissions, { pattern, rule }: PermitInput): Promise<boolean> {
  if (isPattern(pattern)) return permissions.set(pattern, rule);
  const message = `"${pattern}" is no tool's name: expected server.tool (${TOOL_NAME_RULE}), or what it begins with and a star: server.*, server.read_*, *.`;
  return Promise.reject(new RelayError('invalid-input', message));
}

function shownTools(servers: ToolServers, permissions: Permissions, list: readonly ShownServer[]): ShownTools {
  const { path: config, problems } = servers;
  return { config, problems, servers: list, permissions: entriesOf(permissions) };
}

function entriesOf(permissions: Permissions): ShownEntry[] {
  return permissions.list().map(({ pattern, rule }) => ({ pattern, rule }));
}

function shownTool(
  name: string,
  { own, description, permissions }: { own: string; description: string; permissions: Permissions },
): ShownTool {
  const { rule, pattern } = permissions.of(name);
  const problem = isOwnName(own) ? null : `its name does not fit: ${TOOL_NAME_RULE}`;
  return { name, description, permission: rule, set_by: pattern, problem };
}

function placeOf(config: ServerConfig) {
  const { name, kind } = config;
  return { name, kind, place: config.kind === 'stdio' ? config.command : config.url.origin };
}

export function createToolsRouter(admin: ToolsAdmin) {
  const { router, procedure } = localTrpc;
  return router({
    list: procedure.mutation(() => answering(admin.list())),
    permissions: procedure.mutation(() => answering(admin.permissions())),
    permit: procedure.input(permitSchema).mutation(({ input }) => answering(admin.permit(input))),
    forget: procedure.input(z.string()).mutation(({ input }) => answering(admin.forget(input))),
    approvals: procedure.mutation(() => answering(admin.approvals())),
    decide: procedure.input(decideSchema).mutation(({ input }) => answering(admin.decide(input))),
  });
}
