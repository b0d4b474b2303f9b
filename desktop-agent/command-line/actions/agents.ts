/** What `graph-relay desktop agents` does: looks at the owner's file, and asks its agents. The desktop may be running. */
import { EXIT_CODES } from '../../../protocol/host/exit-codes.ts';
import { systemClock, systemRandom } from '../../../protocol/host/system-ports.ts';
import { columns, note, painted, plain, print } from '../../../protocol/host/terminal.ts';
import { cleanText } from '../../../protocol/text.ts';
import { chooseAgent } from '../../agents/agent-names.ts';
import { type AgentParts, keyOf, providerOf, urlOf } from '../../agents/agent-providers.ts';
import type { AgentEntry, Agents } from '../../agents/agents-schema.ts';
import { NO_FILE } from '../../agents/configured-agents.ts';
import { agentsFileOf, machineParts, usable } from '../../agents/open-agents.ts';
import { trustAlso } from '../../dialer/trust.ts';
import { costText, counted, listed, spanText } from '../words.ts';

export interface AgentsOptions {
  readonly data?: string;
  readonly ca?: string;
  readonly json?: boolean;
  /** True for all of them. */
  readonly test?: string | true;
}

/** `there` is null where only a try can tell: a program has to be run for it. */
interface ShownKey {
  readonly from: string;
  readonly there: boolean | null;
}

interface ShownAgent {
  readonly name: string;
  readonly default: boolean;
  readonly type: string;
  readonly model: string | null;
  readonly url: string | null;
  readonly command: readonly string[] | null;
  /** Null where none is needed. */
  readonly key: ShownKey | null;
}

interface TriedAgent {
  readonly name: string;
  readonly ok: boolean;
  readonly duration_ms: number;
  readonly tokens: number | null;
  readonly cost_usd: number | null;
  readonly answer: string | null;
  readonly error: string | null;
}

const PROMPT = 'Answer with the single word "ready".';
const ANSWER_CHARS = 60;

export async function showAgents(options: AgentsOptions): Promise<void> {
  trustAlso(options.ca);
  const file = agentsFileOf(options.data);
  const agents = (await usable(file.read())).agents;
  const parts = machineParts({ clock: systemClock, random: systemRandom });
  if (agents === null) note(`There is no ${file.path}: agents are answered by a script that only echoes. See --help.`);
  if (options.test === undefined) return list(agents ?? NO_FILE, parts, options);
  const names = options.test === true ? [...(agents ?? NO_FILE).agents.keys()] : [options.test];
  await tryAll(names, { agents: agents ?? NO_FILE, parts, json: options.json ?? false });
}

async function list({ agents, default: usual }: Agents, parts: AgentParts, options: AgentsOptions): Promise<void> {
  const shown = await Promise.all([...agents].map(([name, entry]) => shownAgent(name, entry, parts)));
  const rows = shown.map((agent) => ({ ...agent, default: agent.name === usual }));
  if (options.json) return print(JSON.stringify(rows));
  for (const line of columns(rows.map(cells))) print(line);
}

async function shownAgent(name: string, entry: AgentEntry, parts: AgentParts): Promise<Omit<ShownAgent, 'default'>> {
  const model = 'model' in entry ? (entry.model ?? null) : null;
  const command = entry.type === 'command' ? entry.command : null;
  return { name, type: entry.type, model, url: urlOf(entry), command, key: await shownKey(entry, parts) };
}

async function shownKey(entry: AgentEntry, parts: AgentParts): Promise<ShownKey | null> {
  const key = keyOf(entry, parts);
  if (key.source === null) return null;
  if ('key_command' in entry && entry.key_command !== undefined) return { from: key.source, there: null };
  const there = await key.read().then(
    () => true,
    () => false,
  );
  return { from: key.source, there };
}

function cells({ name, default: isDefault, type, model, url, command, key }: ShownAgent): string[] {
  const what = command?.join(' ') ?? (url === null ? 'only echoes' : `${model} at ${url}`);
  const from = key === null ? '' : `key: ${plain(key.from)}${key.there === false ? painted('red', ' is NOT SET') : ''}`;
  return [`${isDefault ? '*' : ' '} ${name}`, type, plain(what), from];
}

/** One after another: a model server of this machine may have room for one model at a time. */
async function tryAll(
  names: readonly string[],
  how: { readonly agents: Agents; readonly parts: AgentParts; readonly json: boolean },
): Promise<void> {
  const stopped = new AbortController();
  // A program that is asked runs in a group of its own, which Ctrl-C does not reach.
  process.once('SIGINT', () => stopped.abort(new Error('stopped')));
  const tried: TriedAgent[] = [];
  for (const name of names) {
    const result = await tryOne(name, how, stopped.signal);
    tried.push(result);
    if (!how.json) print(triedLine(result));
    if (!result.ok) process.exitCode = EXIT_CODES.failure;
    if (stopped.signal.aborted) break;
  }
  if (how.json) print(JSON.stringify(tried));
}

async function tryOne(
  name: string,
  { agents, parts }: { readonly agents: Agents; readonly parts: AgentParts },
  signal: AbortSignal,
): Promise<TriedAgent> {
  const startedAt = systemClock.monotonic();
  const nothing = { tokens: null, cost_usd: null, answer: null, error: null };
  const end = () => ({ ...nothing, name, duration_ms: Math.round(systemClock.monotonic() - startedAt) });
  try {
    const chosen = chooseAgent(agents, name);
    const model = chosen.model === undefined ? {} : { model: chosen.model };
    const provider = providerOf(chosen, keyOf(chosen.entry, parts), parts);
    const reply = await provider.ask({ prompt: PROMPT, label: 'test', runId: 'test', signal, ...model });
    const answer = cleanText(reply.text.trim(), ANSWER_CHARS);
    return { ...end(), ok: true, answer, tokens: reply.tokens, cost_usd: reply.costUsd ?? null };
  } catch (error) {
    return { ...end(), ok: false, error: error instanceof Error ? error.message : String(error) };
  }
}

function triedLine({ name, ok, duration_ms, tokens, cost_usd, answer, error }: TriedAgent): string {
  const took = spanText(duration_ms);
  if (!ok) return `${plain(name)}: ${painted('red', 'FAILED')} after ${took}: ${plain(error ?? '')}`;
  const figures = listed(took, counted(tokens ?? 0, 'token'), costText(cost_usd));
  return `${plain(name)}: ${painted('green', 'ok')}, ${figures}: ${plain(answer ?? '')}`;
}
