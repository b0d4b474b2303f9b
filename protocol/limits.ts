/**
 * Every number of the contract: its unit, why it is this one, and what breaks when it is larger or smaller.
 *
 * Durations end in `Ms`, sizes in `Bytes` or `Chars` (UTF-16 code units, as `String.length` counts). A number that
 * only one side knows lives beside the code that uses it, in the same style.
 */

/** The plain contract's pause between two syncs, from the published system. Longer: callers wait longer. */
export const PLAIN_POLL_MS = 20_000;

/** The plain contract's pause between two controls of a running command. Longer: a cancel takes longer to arrive. */
export const PLAIN_CONTROL_POLL_MS = 3_000;

/**
 * Longest hold of a request. Equal to the plain poll, so holding costs no more requests an hour than polling did.
 * Larger: common proxies (30 s, 60 s) begin to cut it. Smaller: more requests for the same latency.
 */
export const HOLD_MAX_MS = 20_000;

/** A granted hold is shortened by up to this share, so that desktops that started together drift apart. */
export const HOLD_JITTER_SHARE = 0.05;

/**
 * The server ends a hold this long before what it granted, so that a proxy with the very same limit does not win the
 * race and turn an empty answer into an error. Larger: slightly more requests. Smaller: false errors.
 */
export const HOLD_MARGIN_MS = 250;

/** A call is given up this long after its granted hold. Larger: a dead connection is found later. Smaller: slow links fail. */
export const DEADLINE_MARGIN_MS = 5_000;

/**
 * A desktop that was offered a command and is silent this long loses the offer, and the command is queued again.
 * Larger: a lost offer waits longer. Smaller: a slow but living desktop is asked twice (its journal then refuses).
 */
export const OFFER_TIMEOUT_MS = 10_000;

/**
 * A desktop of the plain contract has what it was offered for this long after the offer, and after each control or
 * completion of it since: it runs one after another and says nothing of those that wait. Larger (from {@link
 * PLAIN_POLL_MS} on): an answer that was lost costs two polls. Smaller: a few lost controls (one each 3 s) hand a run
 * out twice.
 */
export const PLAIN_LEASE_MS = 15_000;

/** A desktop counts as online this long after its last contact: one hold, its deadline margin, and a retry. */
export const PRESENCE_MS = HOLD_MAX_MS + DEADLINE_MARGIN_MS + 5_000;

/**
 * A desktop asks for a sign of life on its WebSocket after this much silence. Half of a hold: a connection that died
 * without a word is known before the hold would have ended. Shorter: traffic that tells nothing. Longer: proxies that
 * cut what is silent (many after 15 to 60 s) cut it, and a dead one is found later.
 */
export const SOCKET_PING_MS = 10_000;

/**
 * The relay asks for one after this much silence of a desktop: a little later than {@link SOCKET_PING_MS}, so that it
 * asks only where a desktop does not. A connection without FIN or RST would otherwise stay open for hours on this side
 * (case C14; Home Assistant saw it after a change of network). Smaller: both sides ask. Larger: a desktop that is gone is
 * shown as online for longer.
 */
export const SOCKET_SILENCE_MS = 12_000;

/** A sign of life must come within this. Shorter: a slow link is given up. Longer: a dead connection is found later. */
export const SOCKET_PONG_MS = 5_000;

/**
 * A WebSocket that is about to end gets this long for the answers that are still to be written, and once more for the
 * closing handshake. Longer: one dead desktop holds up the end of the relay. Shorter: answers of a busy relay are lost,
 * and their calls are made again.
 */
export const SOCKET_CLOSE_MS = 1_000;

/**
 * A running command is lost when its desktop has not been heard of for this long, or lives on and has not named it.
 * Larger: callers wait longer for the truth.
 */
export const LOST_AFTER_MS = 15 * 60_000;

/** A queued command that has not started by then expires: a run queued last night does not fire when the lid opens. */
export const START_BY_DEFAULT_MS = 24 * 3_600_000;

/** `start_within_seconds` of run_graph_session. Longer than a week: the caller has forgotten what it wanted. */
export const START_WITHIN_SECONDS = { min: 1, max: 7 * 24 * 3_600 } as const;

/** Runs of which is remembered what their agent was told last. Fewer: more answers repeat what is known. Larger: memory. */
export const TOLD_RUNS = 10_000;

/** Waiting commands of one desktop. More than this is a loop somewhere, and lists stay quick below it. */
export const QUEUED_PER_DESKTOP = 100;

/** Waiting commands of one project on all its desktops. Larger: one project can fill the journal. Smaller: fleets starve. */
export const QUEUED_PER_PROJECT = 500;

/**
 * Requests of one desktop that are held at once besides its sync: controls, one for each run, and probes. Smaller than
 * {@link CAPACITY_MAX}: a desktop with as many runs could not wait for all their cancels.
 */
export const HELD_PER_DESKTOP = 80;

/**
 * Calls of get_graph_run of one agent that wait at once; one more is answered at once. Each costs about 30 KiB.
 * Larger: one agent in a loop holds the memory of many. Smaller: several chats of one agent get no waits.
 */
export const WAITS_PER_AGENT = 64;

/**
 * Tasks that one subscription follows; each is a wait of its agent. Larger: one subscription takes the waits of all the
 * agent's chats. Smaller: a client with many tasks has to ask for the rest itself.
 */
export const TASKS_PER_LISTEN = 32;

/**
 * Requests of one agent: so many at once, and so many a minute. One that starts a run each second and asks for twenty
 * others each two seconds sends 660. Larger: an agent in a loop takes the relay from everybody else. Smaller: several
 * chats of one agent are refused.
 */
export const AGENT_REQUESTS_PER_MINUTE = 6_000;

/**
 * Requests of one desktop, in the same way, over all its transports; a call in a batch is one too. A run takes four, so
 * this is 50 runs a second, and 3,000 in one go. Larger: a desktop in a loop takes the relay from all others. Smaller: one
 * with many short runs is slowed down.
 */
export const DESKTOP_REQUESTS_PER_MINUTE = 12_000;

/** Calls in one request or frame of a desktop. Ours sends one. More: one frame is much work. Fewer: nobody has more. */
export const CALLS_PER_BATCH = 100;

/** A finished run is kept this long, with its result. Longer: the state grows. Shorter: a result is gone before it is read. */
export const RUN_RETENTION_MS = 30 * 24 * 3_600_000;

/** Finished runs that are kept, the oldest go first; {@link KEY_RETENTION_MS} is kept all the same. About 1 KB each, and results. */
export const RUNS_KEPT = 10_000;

/**
 * An idempotency key answers with its run for as long as the run is kept, and at least this long after its end,
 * whatever {@link RUNS_KEPT} says. Afterwards the same key starts a new run. Shorter: a client that retries after a
 * night starts a second run. Published in the README: changes with the contract only.
 */
export const KEY_RETENTION_MS = 24 * 3_600_000;

/**
 * JSON characters of a Graph's schema of its arguments. It goes with each sync and each list: larger ones cost traffic and
 * a model's context. Smaller: a Graph with a handful of described arguments has no room.
 */
export const ARGUMENTS_SCHEMA_CHARS = 2_000;

/** Sessions of one project in one sync, from the published system. */
export const SESSIONS_PER_PROJECT = 100;

/** Projects in one sync. Larger: one sync grows beyond its body limit. */
export const PROJECTS_PER_SYNC = 50;

/** Commands that a desktop may hold at once (offered, running, or finished and not yet delivered). */
export const HOLDING_MAX = 200;

/**
 * Earlier starts that a desktop names in its first sync. Fewer: a sync of one that ended long ago, and is late, passes
 * for a new desktop and ends the live one. More: the first sync grows, for requests that no network keeps that long.
 */
export const PREDECESSORS_MAX = 8;

/** Runs that a desktop may ask for at once. */
export const CAPACITY_MAX = 64;

/** Length of the JSON text of a completion's envelope, in characters, not bytes; from the published system. */
export const RESULT_ENVELOPE_CHARS = 100_000;

/** Length of an error text with the mark of a cut, in characters, from the published system. Cut, never inside a surrogate pair. */
export const ERROR_CHARS = 2_000;

/**
 * Length of a tool's name, `server.tool`. Shorter: names of the kind that servers choose do not fit (64, a dot and 128).
 * Longer: what each control of a waiting run says, and each answer about it, grows with it.
 */
export const TOOL_NAME_CHARS = 200;

/** For how long a run may say that it waits for its owner; what is longer is shown as this long. */
export const APPROVAL_WAIT_MAX_MS = 366 * 24 * 3_600_000;

/** Length of a run's arguments as JSON text. They live in the queue until the run ends. */
export const ARGUMENTS_CHARS = 64_000;

/** Nesting of arguments and results. Deeper JSON overflows the stack of naive readers on its way. */
export const JSON_DEPTH = 64;

/**
 * A request body of a desktop. The result envelope at its worst (each character six bytes of escapes, or three bytes
 * of UTF-8) fits; so does the largest sync.
 */
export const BODY_BYTES = 16 * 1024 * 1024;

/** A request body on the MCP endpoint: arguments at their worst, and room for the envelope. */
export const MCP_BODY_BYTES = 1024 * 1024;

/** Idempotency keys, from the published tool schema. */
export const IDEMPOTENCY_KEY_CHARS = { min: 8, max: 128 } as const;

/** `limit` of list_graph_sessions, from the published description. */
export const LIST_LIMIT = { min: 1, max: 50, default: 50 } as const;

/** Longest wait of get_graph_run. MCP clients give up a call after 60 s; 50 s leaves room for the way. */
export const WAIT_MAX_MS = 50_000;

/**
 * How often a caller that asked for progress hears of its wait. Longer: a client whose limit is 15 s of silence gives the call
 * up. Shorter: news that say nothing new.
 */
export const PROGRESS_MS = 10_000;

/** Active runs that list_graph_sessions shows, the newest. A client that lost more than these ids has lost the thread too. */
export const ACTIVE_RUNS_SHOWN = 20;

/** Desktops that wait are sent home over this long when the relay stops, so that they do not come back at once. */
export const DRAIN_SPREAD_MS = 2_000;
/** The pause between two of them. One desktop alone does not wait; from 200 on, {@link DRAIN_SPREAD_MS} is used up. */
export const DRAIN_STEP_MS = 10;
/**
 * They come back within this window, each at its own moment; per desktop, up to the maximum. Smaller: a relay that was
 * away for a second is overrun. Larger: the last desktop is away for longer, and those that find no relay yet have
 * only short pauses behind them when it is there, and overrun it, too. Simulated with 200 desktops and absences of
 * 1, 3, 10 and 30 s: the busiest second has 1.4 to 2.1 times the mean.
 */
export const RECONNECT_STEP_MS = 25;
export const RECONNECT_SPREAD_MAX_MS = 5_000;

/** What `retry-after` says on answers with status 429 and 503 when nothing more exact is known. A restart takes a second or two. */
export const RETRY_AFTER_SECONDS = 5;

/** First pause after an error; doubles up to {@link BACKOFF_MAX_MS}, with full jitter. Smaller: a restart is overrun. */
export const BACKOFF_MIN_MS = 500;
/** Longest pause after errors: not longer than a plain poll, or errors would cost more than having no hold at all. */
export const BACKOFF_MAX_MS = PLAIN_POLL_MS;
