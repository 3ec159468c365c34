import type { JsonValue } from "@bufbuild/protobuf";
import { noop } from "../../protocol/async/noop.js";
import { restorePrincipal } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { reply } from "../../protocol/events.js";
import { TaskState } from "../../protocol/model.js";
import { isInterrupted, isTerminal } from "../../protocol/states.js";
import type { LogRecord, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { maskStoreFailure, Unanswered, waitForStore } from "../store-failure.js";
import { type OpenArtifacts, updateOpenArtifacts } from "../task/conversation-tracker.js";
import { foldStored } from "../task/fold.js";
import { LiveTask } from "../task/live-task.js";
import { statusUpdate } from "../task/normalize.js";
import type { Draft } from "../task/record.js";
import { isReleased, readCause, readOrigin, type TurnOrigin } from "../turn/origin.js";
import type { TurnStart } from "../turn-start.js";

// How a turn of a stored task begins.
//
// `continueTask` makes a live task of the stored one, and `claimTurn` writes the claim: one write that raises the epoch, so
// that of several processes one succeeds. Whoever called then starts the turn. There are three kinds of turns: of a message
// (`deliver.ts`), of a wake (`startWoken`), and the last one again (`claimRestart`). `endWithoutTurn` claims a task only to end it.
//
// A process runs one claim of a task at a time (`claiming`). A claim whose answer is late may still arrive: then the turn is
// started where the answer arrives, unless the handler has closed.

/** The write of a claim, and the turn it starts. */
export interface TurnClaim {
  /** Ordinal of the turn. */
  readonly turn: number;
  readonly drafts: readonly Draft[];
  /** Ids of the inbox entries that the turn takes. */
  readonly takes?: readonly string[] | undefined;
  /** Starts the turn. The caller does so, unless the claim was late. */
  readonly start: () => void;
}

/** `refused`: another process claimed the task first. `busy`: another claim of this process was under way and has ended. */
type TurnClaimOutcome = "claimed" | "refused" | "busy";

/**
 * Claims a task without a running turn, in the write that starts a turn. When the store is late this rejects with
 * `Unanswered`, and a claim that arrives nevertheless starts the turn: a stored message or wake must not be lost.
 */
export async function claimTurn(runtime: Runtime, live: LiveTask, claim: TurnClaim): Promise<TurnClaimOutcome> {
  const { claiming } = runtime;
  // This process runs one claim of a task at a time: until it settles it is unknown whether the task is held.
  const underWay = claiming.get(live.id);
  if (underWay !== undefined) {
    await underWay;
    return "busy";
  }
  const outcome = writeClaim(runtime, live, claim);
  claiming.set(live.id, outcome.then(noop, noop));
  const late = Promise.withResolvers<never>();
  const onLate = ({ cause }: Unanswered): void => {
    const releaseShutdown = runtime.turns.holdShutdown();
    // A closed handler may have lost the task already: it leaves it to others.
    const started = outcome.then((result) => {
      if (result === "claimed" && !runtime.turns.isClosed) claim.start();
    });
    late.reject(new Unanswered(cause, started.catch(noop).finally(releaseShutdown)));
  };
  live.mayBeLate({ onLate, retryMs: runtime.limits.storeWaitMs });
  return Promise.race([outcome, late.promise]);
}

async function writeClaim(
  { claiming, live: liveTasks }: Runtime,
  live: LiveTask,
  { turn, drafts, takes }: TurnClaim,
): Promise<TurnClaimOutcome> {
  try {
    if ((await live.exclusive(drafts, { claim: { turn }, takes })) !== "stored") return "refused";
  } catch (error) {
    throw maskStoreFailure(error);
  } finally {
    claiming.delete(live.id);
  }
  liveTasks.set(live.id, live);
  return "claimed";
}

/** How often a call tries again when others have changed its task meanwhile. */
export const maxTries = 20;

/** The error for a task that other calls changed in each of several tries. */
export function contentionError(): A2AError {
  return new A2AError("unavailable", "other calls change the task at the same time: try again", { retryAfterMs: 1000 });
}

/** True when no process works on a held task: its holder is gone, or is this process, which abandoned it. */
export async function isOrphan(runtime: Runtime, { head }: StoredTask): Promise<boolean> {
  if (head.holder === "" || isTerminal(head.state)) return false;
  if (head.holder !== runtime.instance) return !head.holderLive && (await isHolderGone(runtime));
  return !runtime.claiming.has(head.id) && runtime.live.get(head.id)?.closed !== false;
}

/** Whether a process with an expired lease is gone. */
export async function isHolderGone(runtime: Runtime): Promise<boolean> {
  return waitForStore(runtime, runtime.lease.trustsExpiry()).catch((error: unknown) => {
    throw maskStoreFailure(error);
  });
}

/**
 * Ends a task without a running turn, in one write that claims and ends it. Returns false when another process was
 * faster.
 */
export async function endWithoutTurn(
  runtime: Runtime,
  storedTask: StoredTask,
  { state, text }: { readonly state: TaskState; readonly text?: string },
): Promise<boolean> {
  const live = await continueTask(runtime, storedTask);
  const identity = { taskId: live.id, contextId: live.contextId, newId: runtime.newId, artifactId: () => "" };
  const event = statusUpdate(state, identity, text === undefined ? undefined : reply(text));
  try {
    const result = await live.exclusive([{ kind: "event", event }, { kind: "turnEnded" }], {
      claim: { turn: live.turn },
      end: { inboxPut: live.inboxPut },
    });
    return result === "stored";
  } catch (error) {
    throw maskStoreFailure(error);
  }
}

/** Records read at once. */
const pageSize = 1_000;

/**
 * Makes a live task of a stored one, to be claimed. If its turn has not ended, its log shows which artifacts of the
 * turn are not in the conversation yet.
 */
export async function continueTask(runtime: Runtime, storedTask: StoredTask): Promise<LiveTask> {
  const live = new LiveTask(runtime, storedTask);
  const { holder, state } = storedTask.head;
  // A turn that waits for its caller may be left to the process that gets the answer.
  const mayBeOpen = holder !== "" || (runtime.restartable && isInterrupted(state));
  if (runtime.conversations !== undefined && mayBeOpen) {
    live.resumeArtifacts(await readOpenArtifacts(runtime, storedTask));
  }
  return live;
}

async function readOpenArtifacts({ store }: Runtime, storedTask: StoredTask): Promise<OpenArtifacts> {
  const { key, seq, turnSeq } = storedTask.head;
  const [start] = await store.recordsAt(key, [turnSeq]);
  const message = start?.kind === "turnStarted" ? (start.message ?? turnSeq) : turnSeq;
  let open: OpenArtifacts;
  for (let after = Math.min(message, turnSeq) - 1; after < seq; ) {
    const page = await store.recordsAfter(key, Math.max(0, after), pageSize);
    // Every artifact: an entry that is recorded twice is better than a missing one.
    if (page === "compacted")
      return new Map(foldStored(storedTask).artifacts.map(({ artifactId }) => [artifactId, false]));
    const records: readonly LogRecord[] = page?.records ?? [];
    const last = records.at(-1);
    if (last === undefined) break;
    open = updateOpenArtifacts(open, records);
    after = last.seq;
  }
  return open;
}

/** Starts a turn that was claimed. `answeredBy`: the kind of the inbox entry that ends its wait. */
type StartAgain = (answeredBy?: TurnStart["answeredBy"]) => void;

/**
 * Claims a task in order to run its last turn again, and returns what starts it. `undefined`: another process was faster.
 * A late claim starts the turn without an answer to its question.
 */
export async function claimRestart(
  runtime: Runtime,
  storedTask: StoredTask,
  { attempt, wake, trace, messageSeq: message, entry, send }: TurnOrigin,
): Promise<StartAgain | undefined> {
  const { scope } = storedTask.head;
  const live = await continueTask(runtime, storedTask);
  // Entries may have been put while another process held the task, so their number is unknown.
  live.setInboxPut(-1);
  const { turn } = live;
  const principal = restorePrincipal(scope, send);
  const turnStart = { cause: "restart", attempt, principal, scope, entry, send, wake, trace } as const;
  const start: StartAgain = (answeredBy) => runtime.startTurn({ ...turnStart, answeredBy }, { live });
  const outcome = await claimTurn(runtime, live, {
    turn,
    drafts: [{ kind: "turnStarted", turn, attempt, cause: "restart", wake, message, trace }],
    start,
  });
  return outcome === "claimed" ? start : undefined;
}

/** Whether a wake ends the wait of the turn: it may wait for an authorization. */
export function awaitsAuthorization({ head }: StoredTask): boolean {
  return head.state === TaskState.AUTH_REQUIRED;
}

/**
 * The last turn of a task, if it waits for its caller without a process and is to be run again once the caller has
 * answered.
 */
export async function waitingTurn(runtime: Runtime, storedTask: StoredTask): Promise<TurnOrigin | undefined> {
  const { holder, state } = storedTask.head;
  if (!runtime.restartable || holder !== "" || !isInterrupted(state)) return undefined;
  return (await isReleased(runtime, storedTask)) ? readOrigin(runtime, storedTask) : undefined;
}

interface WokenTurn {
  /** Data of the wake. */
  readonly wake?: JsonValue | undefined;
  /** Id of the wake in the inbox of a turn that has not ended: its process has gone. */
  readonly replacedEntry?: string | undefined;
}

/** Starts the turn of a wake, in room that the caller has taken. Returns false when another process was faster. */
export async function startWoken(
  runtime: Runtime,
  storedTask: StoredTask,
  { wake, replacedEntry }: WokenTurn = {},
): Promise<boolean> {
  const { scope } = storedTask.head;
  const origin = await readOrigin(runtime, storedTask);
  const { messageSeq: message, entry, send } = origin;
  const live = await continueTask(runtime, storedTask);
  // Entries may have been put while another process held the task, so their number is unknown.
  if (replacedEntry !== undefined) live.setInboxPut(-1);
  const endDrafts: readonly Draft[] = replacedEntry === undefined ? [] : [{ kind: "turnEnded" }];
  const takes = replacedEntry === undefined ? undefined : [replacedEntry];
  const turn = live.turn + 1;
  const trace = runtime.telemetry?.wake({ taskId: live.id, contextId: live.contextId }, readCause(origin));
  const startDraft: Draft = { kind: "turnStarted", turn, attempt: 1, cause: "wake", wake, message, trace };
  const principal = restorePrincipal(scope, send);
  const start = (): void =>
    runtime.startTurn({ cause: "wake", attempt: 1, principal, scope, entry, send, wake, trace }, { live });
  const outcome = await claimTurn(runtime, live, { turn, drafts: [...endDrafts, startDraft], takes, start });
  if (outcome === "claimed") start();
  return outcome === "claimed";
}
