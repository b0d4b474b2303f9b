/**
 * Questions to the owner: may this run call this tool with this input?
 *
 * Owns the questions that are open, and what was decided for the rest of a run. A question lives as long as its run does;
 * nothing of it survives the process. What is decided from now on is a permission, and kept elsewhere.
 */
import { RelayError } from '../../protocol/errors.ts';
import type { Clock, Ids, Log } from '../../protocol/ports.ts';
import { ToolRefused, type ToolRequest } from '../engine/tool-host.ts';
import type { ApprovalScope } from '../run-events.ts';
import type { Permissions } from './permissions.ts';

export type Decision = 'allow' | 'deny';

export interface ApprovalOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly permissions: Permissions;
  /** Questions that may be open at once. */
  readonly most: number;
}

/** A question that waits for an answer, as its owner sees it. */
export interface OpenApproval {
  readonly approval: string;
  readonly command_id: string;
  readonly run_id: string;
  readonly tool: string;
  /** Any JSON value. */
  readonly input?: unknown;
  /** Epoch milliseconds. */
  readonly asked_at_ms: number;
}

export interface DecisionRequest {
  /** Which question; the only one that waits when left out. */
  readonly approval?: string | undefined;
  readonly decision: Decision;
  readonly scope: ApprovalScope;
}

interface Question extends OpenApproval {
  readonly decide: (decision: Decision, scope: ApprovalScope) => void;
}

/** Typed by people, and unique among those that are open. */
const ID_BYTES = 3;

/** Runs of which is known what was decided for the rest of them: more than go on at once. One that is forgotten asks again. */
const REMEMBERED_RUNS = 100;

export class Approvals {
  readonly #options: ApprovalOptions;
  readonly #open = new Map<string, Question>();
  /** What was decided for the rest of a run, by run and tool. */
  readonly #ofRuns = new Map<string, Map<string, Decision>>();

  constructor(options: ApprovalOptions) {
    this.#options = options;
  }

  list(): OpenApproval[] {
    return [...this.#open.values()].map(({ decide: _, ...shown }) => shown);
  }

  /** What the owner says. Rejects when the run has ended, and with a refusal when too many questions are open. */
  async ask(request: ToolRequest): Promise<Decision> {
    const { runId, tool, signal } = request;
    const decided = this.#ofRuns.get(runId)?.get(tool);
    if (decided !== undefined) return decided;
    const { most } = this.#options;
    if (this.#open.size >= most) {
      throw new ToolRefused(`${most} questions to the owner are open already, so ${tool} was not asked about`);
    }
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Decision>();
    const question = this.#questionOf(request, resolve);
    const takeBack = () => {
      this.#open.delete(question.approval);
      reject(signal.reason);
    };
    signal.addEventListener('abort', takeBack, { once: true });
    // Should a listener throw, nobody waits for it.
    promise.catch(() => {});
    this.#tell(request, question);
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', takeBack);
    }
  }

  /** Answers a question, and those that the same answer fits. Gives back those that were answered. */
  async decide({ approval, decision, scope }: DecisionRequest): Promise<OpenApproval[]> {
    const question = this.#named(approval);
    const { run_id, tool } = question;
    if (scope === 'always') {
      // On disk first: what is answered from now on must still be so tomorrow.
      await this.#options.permissions.set(tool, decision);
      return this.#decideAll(({ tool: other }) => other === tool, decision, scope);
    }
    if (scope === 'call') return this.#decideAll((other) => other.approval === question.approval, decision, scope);
    this.#remember(run_id, tool, decision);
    return this.#decideAll((other) => other.run_id === run_id && other.tool === tool, decision, scope);
  }

  /** Permissions have changed: what they answer now is not asked any more. */
  reconsider(): OpenApproval[] {
    const { permissions } = this.#options;
    return (['allow', 'deny'] as const).flatMap((rule) =>
      this.#decideAll(({ tool }) => permissions.of(tool).rule === rule, rule, 'always'),
    );
  }

  #remember(runId: string, tool: string, decision: Decision): void {
    const ofRun = this.#ofRuns.get(runId) ?? new Map<string, Decision>();
    this.#ofRuns.delete(runId);
    this.#ofRuns.set(runId, ofRun.set(tool, decision));
    if (this.#ofRuns.size > REMEMBERED_RUNS) this.#ofRuns.delete(this.#ofRuns.keys().next().value!);
  }

  #decideAll(fits: (question: OpenApproval) => boolean, decision: Decision, scope: ApprovalScope): OpenApproval[] {
    const decided = this.list().filter(fits);
    for (const { approval } of decided) this.#open.get(approval)?.decide(decision, scope);
    return decided;
  }

  #named(approval: string | undefined): Question {
    const open = [...this.#open.values()];
    if (open.length === 0) throw new RelayError('invalid-input', 'Nothing waits for a decision.');
    const names = open.map(({ approval: id, tool }) => `${id} (${tool})`).join(', ');
    if (approval === undefined && open.length > 1) {
      throw new RelayError('invalid-input', `More than one question waits, so name one: ${names}.`);
    }
    const question = approval === undefined ? open[0] : this.#open.get(approval.toLowerCase());
    if (question !== undefined) return question;
    throw new RelayError('invalid-input', `No question "${approval}" waits for a decision. These do: ${names}.`);
  }

  #questionOf(request: ToolRequest, resolve: (decision: Decision) => void): Question {
    const { clock, ids, log } = this.#options;
    const { commandId: command_id, runId: run_id, call, tool, input, onEvent } = request;
    let approval = ids.hex(ID_BYTES);
    while (this.#open.has(approval)) approval = ids.hex(ID_BYTES);
    const decide = (decision: Decision, scope: ApprovalScope) => {
      this.#open.delete(approval);
      log.info('approval.decided', { approval, command_id, tool, decision, scope });
      onEvent({ type: 'approval_decided', approval, call, tool, decision, scope });
      resolve(decision);
    };
    return { approval, command_id, run_id, tool, input, asked_at_ms: clock.now(), decide };
  }

  #tell({ call, onEvent }: ToolRequest, question: Question): void {
    const { approval, command_id, tool, input } = question;
    this.#open.set(approval, question);
    this.#options.log.info('approval.asked', {
      approval,
      command_id,
      tool,
      decide_with: `graph-relay desktop approve ${approval}`,
    });
    onEvent({ type: 'approval_asked', approval, call, tool, input });
  }
}
