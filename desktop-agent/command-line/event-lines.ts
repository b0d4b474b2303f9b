/**
 * The events of a run as lines, in the order in which they happen.
 *
 * Owns the words. It is told which text is which colour, and writes nothing itself.
 */
import { type Paint, plain } from '../../protocol/host/terminal.ts';
import type { GraphEvent } from '../run-events.ts';
import { costText, counted, listed, spanText } from './words.ts';

export type PaintText = (paint: Paint, text: string) => string;

const CHARS = 500;

type EventOf<Type extends GraphEvent['type']> = Extract<GraphEvent, { type: Type }>;

export class EventLines {
  readonly #paint: PaintText;
  /** By number. */
  readonly #agents = new Map<number, string>();
  /** How deep each nested Graph is, by its number. */
  readonly #depths = new Map<number, number>();

  constructor(paint: PaintText) {
    this.#paint = paint;
  }

  /** Null for an event that says nothing new to a person. */
  line(event: GraphEvent): string | null {
    const text = this.#textOf(event);
    if (text === null) return null;
    const depth = 'within' in event && event.within !== undefined ? (this.#depths.get(event.within) ?? 0) : 0;
    return `${'  '.repeat(depth)}${text}`;
  }

  #textOf(event: GraphEvent): string | null {
    switch (event.type) {
      case 'phase':
        return this.#paint('bold', `── ${shown(event.title)}`);
      case 'log':
        return `   ${shown(event.message)}`;
      case 'wave_finished':
        return event.agents > 1 ? this.#dim(`   ${waveText(event)}`) : null;
      case 'agent_started':
        this.#agents.set(event.agent, event.label);
        return this.#dim(` ▸ ${shown(event.label)}${event.model === null ? '' : ` (${shown(event.model)})`}`);
      case 'agent_finished': {
        const { ok, tokens, cost, duration_ms, error } = event;
        const figures = listed(counted(tokens, 'token'), costText(cost), spanText(duration_ms));
        return this.#ended(ok, this.#agents.get(event.agent) ?? `agent ${event.agent}`, { figures, error });
      }
      case 'agent_refused':
        return this.#refused(event.label, event.reason);
      case 'retry_waits':
        return this.#paint('yellow', ` ↻ ${retryText(event)}`);
      case 'finished':
      case 'fleet_started':
      case 'wave_started':
        return null;
      default:
        return this.#toolOrGraph(event);
    }
  }

  #toolOrGraph(event: EventOf<ToolEvent | NestedEvent>): string {
    switch (event.type) {
      case 'tool_started':
        return this.#dim(` ▸ ${shown(event.tool)}`);
      case 'tool_finished':
        return this.#ended(event.ok, event.tool, { figures: spanText(event.duration_ms), error: event.error });
      case 'tool_refused':
        return this.#refused(event.tool, event.reason);
      case 'approval_asked':
        return this.#paint('yellow', ` ? ${shown(event.tool)} waits for your approval (${event.approval})`);
      case 'approval_decided':
        return this.#dim(` ${event.decision === 'allow' ? '✓' : '✗'} ${shown(event.tool)}: ${decisionText(event)}`);
      case 'graph_started':
        this.#depths.set(event.graph, this.#depthOf(event.within) + 1);
        return this.#dim(` ▸ Graph ${shown(event.slug)}`);
      case 'graph_finished':
        return this.#ended(event.ok, `Graph ${event.slug}`, {
          figures: spanText(event.duration_ms),
          error: event.error,
        });
      case 'graph_refused':
        return this.#refused(`Graph ${event.slug}`, event.reason);
    }
  }

  #depthOf(graph: number | undefined): number {
    return graph === undefined ? 0 : (this.#depths.get(graph) ?? 0);
  }

  #ended(ok: boolean, label: string, { figures, error }: { figures: string; error: string | null }): string {
    const mark = ok ? this.#paint('green', '✓') : this.#paint('red', '✗');
    return ` ${mark} ${shown(label)}  ${this.#dim(figures)}${error === null ? '' : `  ${this.#paint('red', shown(error))}`}`;
  }

  #refused(label: string, reason: string): string {
    return this.#paint('yellow', ` ⊘ ${shown(label)}: ${shown(reason)}`);
  }

  #dim(text: string): string {
    return this.#paint('dim', text);
  }
}

type ToolEvent = 'tool_started' | 'tool_finished' | 'tool_refused' | 'approval_asked' | 'approval_decided';
type NestedEvent = 'graph_started' | 'graph_finished' | 'graph_refused';

function waveText({ wave, agents, tokens, duration_ms }: EventOf<'wave_finished'>): string {
  return `wave ${wave}: ${listed(counted(agents, 'agent'), counted(tokens, 'token'), spanText(duration_ms))}`;
}

function retryText({ attempt, attempts, wait_ms, error }: EventOf<'retry_waits'>): string {
  return `attempt ${attempt} of ${attempts} failed: ${shown(error)}; again in ${spanText(wait_ms)}`;
}

function decisionText({ decision, scope }: EventOf<'approval_decided'>): string {
  const how = { call: '', run: ' for this run', always: ' from now on' }[scope];
  return `${decision === 'allow' ? 'allowed' : 'denied'}${how}`;
}

function shown(text: string): string {
  const line = plain(text);
  return line.length <= CHARS ? line : `${line.slice(0, CHARS - 1)}…`;
}
