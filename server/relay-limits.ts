/** The limits that may be other numbers, by the owner (owner-limits.ts) or in a test; why each is as it is, is said in `protocol/limits.ts`. */
import {
  AGENT_REQUESTS_PER_MINUTE,
  DESKTOP_REQUESTS_PER_MINUTE,
  HELD_PER_DESKTOP,
  KEY_RETENTION_MS,
  LOST_AFTER_MS,
  QUEUED_PER_DESKTOP,
  QUEUED_PER_PROJECT,
  RUN_RETENTION_MS,
  RUNS_KEPT,
  SOCKET_CLOSE_MS,
  SOCKET_PONG_MS,
  SOCKET_SILENCE_MS,
  START_BY_DEFAULT_MS,
  TOLD_RUNS,
  WAITS_PER_AGENT,
} from '../protocol/limits.ts';
import type { SocketTimes } from './desktop-socket.ts';

export interface RelayLimits extends SocketTimes {
  readonly queuedPerDesktop: number;
  readonly queuedPerProject: number;
  readonly heldPerDesktop: number;
  readonly waitsPerAgent: number;
  /** In a minute, and at once. 0: no limit. */
  readonly requestsPerAgent: number;
  /** In a minute, and at once. 0: no limit. */
  readonly requestsPerDesktop: number;
  readonly startByDefaultMs: number;
  readonly lostAfterMs: number;
  readonly runRetentionMs: number;
  readonly runsKept: number;
  readonly keyRetentionMs: number;
  /** Runs of which is remembered what their agent was told last. 0: each answer about a run is a full one. */
  readonly toldRuns: number;
}

export const DEFAULT_LIMITS: RelayLimits = {
  queuedPerDesktop: QUEUED_PER_DESKTOP,
  queuedPerProject: QUEUED_PER_PROJECT,
  heldPerDesktop: HELD_PER_DESKTOP,
  waitsPerAgent: WAITS_PER_AGENT,
  requestsPerAgent: AGENT_REQUESTS_PER_MINUTE,
  requestsPerDesktop: DESKTOP_REQUESTS_PER_MINUTE,
  startByDefaultMs: START_BY_DEFAULT_MS,
  lostAfterMs: LOST_AFTER_MS,
  runRetentionMs: RUN_RETENTION_MS,
  runsKept: RUNS_KEPT,
  keyRetentionMs: KEY_RETENTION_MS,
  toldRuns: TOLD_RUNS,
  socketSilenceMs: SOCKET_SILENCE_MS,
  socketPongMs: SOCKET_PONG_MS,
  socketCloseMs: SOCKET_CLOSE_MS,
};
