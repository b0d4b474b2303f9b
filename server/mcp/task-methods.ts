/**
 * The names of the Tasks extension: which messages belong to it, what they need, and who has declared it.
 *
 * Owns what can be told from a message alone. Must not run anything, and must not answer.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  MissingRequiredClientCapabilityError,
} from '@modelcontextprotocol/server';
import type { AgentScope } from '../agent-api.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** How the extension is declared, by both sides. */
export const TASKS_DECLARED = { extensions: { [TASKS_EXTENSION]: {} } } as const;

/** The one tool whose call becomes a task. */
export const TASK_TOOL = 'run_graph_session';

/** Methods under this prefix are the extension's, those that do not exist too. */
const PREFIX = 'tasks/';

const LISTEN = 'subscriptions/listen';

/** A message that needs a token. Has the shape of what the gate looks at in a tool call. */
export interface TaskMessage {
  readonly tool: { readonly scope: AgentScope };
}

/** The messages about tasks in a body, a batch's too. */
export function taskMessagesOf(body: unknown): readonly TaskMessage[] {
  const messages = Array.isArray(body) ? body : [body];
  return messages.filter(isAboutTasks).map((message) => ({ tool: { scope: scopeOf(message) } }));
}

/** A subscription to news, of whatever. */
export function isListen(message: unknown): boolean {
  return methodOf(message) === LISTEN;
}

/** A subscription to news of tasks. Whether the ids in it are ids, is looked at later. */
export function isTaskListen(message: unknown): boolean {
  if (!isListen(message)) return false;
  const { params } = message as { params?: { notifications?: unknown } | null };
  const filter = params?.notifications;
  return typeof filter === 'object' && filter !== null && 'taskIds' in filter;
}

/** Refuses who has not said, with this very request, that it knows tasks. */
export function requireDeclared(envelope: Readonly<Record<string, unknown>> | undefined): void {
  if (declaresTasks(envelope)) return;
  throw new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
    `This needs a client that declares the extension ${TASKS_EXTENSION} with the request. Without it, get_graph_run and cancel_graph_run do the same.`,
  );
}

/** Whether the client has said, with this very request, that it knows tasks. The SDK has checked the form. */
export function declaresTasks(envelope: Readonly<Record<string, unknown>> | undefined): boolean {
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  return capabilities?.extensions?.[TASKS_EXTENSION] !== undefined;
}

function isAboutTasks(message: unknown): boolean {
  return methodOf(message)?.startsWith(PREFIX) === true || isTaskListen(message);
}

function scopeOf(message: unknown): AgentScope {
  return methodOf(message) === 'tasks/get' || isTaskListen(message) ? 'osfoundry:read' : 'osfoundry:run';
}

function methodOf(message: unknown): string | undefined {
  const { method } = (message ?? {}) as { method?: unknown };
  return typeof method === 'string' ? method : undefined;
}
