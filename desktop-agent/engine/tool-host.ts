/**
 * The port behind `tool(name, input)`: who calls a tool, and who may forbid it.
 *
 * Owns the shape. The engine checks that the Graph's `meta.tools` names the tool, and asks; permissions, approvals and
 * the servers that have the tools are behind this port, in `tools/`.
 */
import type { GraphEvent } from '../run-events.ts';

export interface ToolRequest {
  readonly commandId: string;
  /** The run's id, as in `fleet_started`. */
  readonly runId: string;
  /** The call's number in its run. */
  readonly call: number;
  /** `server.tool`. */
  readonly tool: string;
  /** The input: any JSON value. */
  readonly input: unknown;
  /** Aborted when the run has ended: the call is given up, and an open question to the owner is taken back. */
  readonly signal: AbortSignal;
  /** Tells of an approval; the engine tells of the call itself. */
  readonly onEvent: (event: Extract<GraphEvent, { type: 'approval_asked' | 'approval_decided' }>) => void;
}

/** The call was not made, and will not be: no such tool, or the owner said no. */
export class ToolRefused extends Error {
  override readonly name = 'ToolRefused';
}

export interface ToolHost {
  /**
   * Resolves with what the tool gave: any JSON value. Rejects with a {@link ToolRefused} when it was not called, or with
   * an error whose message tells a person what went wrong.
   */
  call(request: ToolRequest): Promise<unknown>;
}

/** A desktop without tools. */
export const NO_TOOLS: ToolHost = {
  call: ({ tool }) =>
    Promise.reject(new ToolRefused(`there is no tool "${tool}": this desktop has no tool servers yet`)),
};
