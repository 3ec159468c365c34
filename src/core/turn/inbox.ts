import { noop } from "../../protocol/async/noop.js";
import { retry } from "../../protocol/async/retry.js";
import { restorePrincipal } from "../../protocol/context.js";
import type { Message } from "../../protocol/model.js";
import type { TraceContext } from "../../protocol/telemetry/trace.js";
import type { AuthorizationEnd } from "../agent.js";
import type { Head, Hint, InboxEntry, Park } from "../ports.js";
import { storeRetries } from "../store-failure.js";
import type { LiveTask, Sender } from "../task/live-task.js";
import { type Draft, messageDraft } from "../task/record.js";
import type { TurnStart } from "../turn-start.js";
import type { Watcher } from "../watch.js";
import type { TurnRun } from "./run.js";

// The inbox of a task is in the store. Other calls put entries there, in any process: messages, wakes and cancels.
// `TurnInbox` reads it for the turn that runs: when a hint arrives, when the polled head shows another count of entries,
// when the agent begins to wait, and before the turn ends. A cancel aborts the turn at once. A message or a wake stays in
// the store until the agent waits for it, or until the turn ends; then it is taken by a write that fails if it was
// withdrawn.
//
// Invariant: a turn ends only with a write that names the `inboxPut` at which the inbox was seen empty. The store refuses
// it if an entry was put since, and `endTurn` reads again: no entry is left behind without a turn.

interface Receiver {
  /** `waiting` once all earlier events are stored; `taking` while a message is being taken. */
  phase: "flushing" | "waiting" | "taking";
  /** Whether a wake ends the wait as well. */
  readonly takesWakes: boolean;
  readonly resolve: (entry: InboxEntry) => void;
  readonly reject: (reason: unknown) => void;
}

/** `stale`: an entry was put during a read, so the inbox is read again. */
type InboxPhase = "idle" | "reading" | "stale" | "closed";

/**
 * A turn's view of its task's inbox: notices cancels, passes messages to `receive`, and ends the turn when nothing
 * waits.
 */
export class TurnInbox implements Watcher {
  readonly #run: TurnRun;
  #live: LiveTask | undefined;
  #receiver: Receiver | undefined;
  #phase: InboxPhase = "idle";
  #messages = 0;

  constructor(run: TurnRun) {
    this.#run = run;
  }

  get taskId(): string {
    return this.#run.taskId;
  }

  get key(): number | undefined {
    return this.#live?.key;
  }

  /** Messages that waited when the inbox was last read. */
  get messages(): number {
    return this.#messages;
  }

  /** Whether the agent waits for a message, and none is being taken. */
  get isWaiting(): boolean {
    return this.#receiver?.phase === "waiting";
  }

  watch(live: LiveTask): void {
    this.#live = live;
    // A turn may create its task with its last event.
    if (this.#phase !== "closed") this.#run.runtime.watch.add(this);
  }

  wake(kind: Hint["kind"]): void {
    if (kind === "inbox") this.#requestRead();
  }

  check(head: Head): void {
    const live = this.#live;
    if (live === undefined || this.#phase === "closed") return;
    if (head.epoch > live.epoch && head.holder !== this.#run.runtime.instance) this.#run.abort("OwnershipLost");
    else if (head.inboxPut !== live.inboxPut) this.#requestRead();
  }

  close(): void {
    this.#phase = "closed";
    this.#receiver?.reject(noMessage());
    this.#run.runtime.watch.delete(this);
  }

  /** Waits for the next message and takes it. One at a time. */
  async receive(): Promise<Message> {
    const { send } = await this.#wait(false);
    if (send === undefined) throw new TypeError("a wake is not a message");
    return send.message;
  }

  /** The same for a message or a wake. */
  async messageOrWake(): Promise<AuthorizationEnd> {
    const { send, wake } = await this.#wait(true);
    return { message: send?.message, wake };
  }

  async #wait(takesWakes: boolean): Promise<InboxEntry> {
    const reason = this.#run.takeAbortReason();
    if (reason !== undefined) throw reason;
    if (this.#receiver !== undefined)
      throw new TypeError("a turn waits for one message at a time: await the first wait before the next");
    // A reply was the whole answer: there is no task and there will be none.
    if (this.#live === undefined && this.#run.isOutputClosed) throw noMessage();
    const live = this.#run.ensureTask();
    const { promise: arrival, resolve, reject } = Promise.withResolvers<InboxEntry>();
    arrival.catch(noop);
    const receiver: Receiver = { phase: "flushing", takesWakes, resolve, reject };
    this.#receiver = receiver;
    try {
      await this.#run.untilStopped(this.#run.flush());
      if (live.closed) throw noMessage();
      receiver.phase = "waiting";
      this.#requestRead();
      if (this.#run.runtime.turns.isReleasing) this.#run.releaseWaiting();
      return await this.#run.untilStopped(arrival);
    } finally {
      this.#receiver = undefined;
    }
  }

  /**
   * Ends the turn in a non-terminal state, with these records or parked, if the inbox is empty. Otherwise a cancel ends
   * the task, and a message or a wake starts the next turn in the same write.
   */
  async endTurn(live: LiveTask, endDrafts: readonly Draft[], park?: Park): Promise<void> {
    await live.flush();
    live.setWakeAt(park?.wakeAt);
    for (;;) {
      const result = await live.exclusive(copyDrafts(endDrafts), { end: { inboxPut: live.inboxPut, park } });
      if (result !== "inboxMoved") return;
      const entries = await this.#readAtEnd(live);
      if (entries.some((entry) => entry.kind === "cancel")) return this.#run.cancelNow();
      const [entry] = entries;
      if (entry !== undefined && (await this.#nextTurn(live, endDrafts, entry))) return;
    }
  }

  async #nextTurn(live: LiveTask, endDrafts: readonly Draft[], entry: InboxEntry): Promise<boolean> {
    const turn = live.turn + 1;
    const { start, drafts } = this.#prepareNext(live, entry, turn);
    const result = await live.exclusive([...copyDrafts(endDrafts), ...drafts], { claim: { turn }, takes: [entry.id] });
    if (result !== "stored") return result === "fenced";
    live.forgetSender(entry.id);
    this.#run.runtime.startTurn(start, { live });
    return true;
  }

  // The start of the next turn: from a message, or from a wake, which reuses this turn's message.
  #prepareNext(
    live: LiveTask,
    { id, send, wake }: InboxEntry,
    turn: number,
  ): { readonly start: TurnStart; readonly drafts: readonly Draft[] } {
    const { start, runtime } = this.#run;
    const { scope } = start;
    const attempt = 1;
    const before = readTraceContext(start);
    if (send === undefined) {
      const { messageSeq: message } = live;
      const trace = runtime.telemetry?.wake({ taskId: live.id, contextId: live.contextId }, before);
      return {
        start: {
          ...start,
          cause: "wake",
          attempt,
          wake,
          trace,
          before: undefined,
          header: undefined,
          deadline: undefined,
          late: undefined,
          answeredBy: undefined,
        },
        drafts: [{ kind: "turnStarted", turn, attempt, cause: "wake", wake, message, trace }],
      };
    }
    const sender: Sender = live.findSender(id) ?? { principal: restorePrincipal(scope, send) };
    return {
      start: { cause: "message", attempt, ...sender, scope, entry: id, send, before },
      drafts: [{ kind: "turnStarted", turn, attempt, cause: "message" }, messageDraft(live, id, send)],
    };
  }

  /** Whether a cancel waits. */
  async holdsCancel(): Promise<boolean> {
    if (this.#live === undefined) return false;
    return (await this.#readAtEnd(this.#live)).some(({ kind }) => kind === "cancel");
  }

  #requestRead(): void {
    if (this.#phase === "reading") this.#phase = "stale";
    if (this.#phase !== "idle") return;
    this.#phase = "reading";
    void this.#runReads();
  }

  async #runReads(): Promise<void> {
    try {
      await this.#handleEntries();
      while (this.#is("stale")) {
        this.#phase = "reading";
        await this.#handleEntries();
      }
    } catch (error) {
      // The next poll reads it again.
      this.#run.logger.warn({ err: error }, "the inbox could not be read");
    } finally {
      if (!this.#is("closed")) this.#phase = "idle";
    }
  }

  #is(phase: InboxPhase): boolean {
    return this.#phase === phase;
  }

  async #handleEntries(): Promise<void> {
    const live = this.#live;
    if (live?.key === undefined || this.#is("closed") || live.closed) return;
    const entries = await this.#read(live);
    if (this.#is("closed")) return;
    if (entries.some((entry) => entry.kind === "cancel")) return this.#run.abort("Canceled");
    const receiver = this.#receiver;
    if (receiver?.phase !== "waiting") return;
    const entry = entries.find(({ send }) => receiver.takesWakes || send !== undefined);
    if (entry === undefined) return;
    receiver.phase = "taking";
    if (await this.#run.take(live, entry)) {
      if (entry.send !== undefined) this.#messages -= 1;
      return receiver.resolve(entry);
    }
    receiver.phase = "waiting";
    this.#requestRead();
  }

  // Like the writes of the turn, its end waits while the store fails.
  #readAtEnd(live: LiveTask): Promise<readonly InboxEntry[]> {
    return retry(() => this.#read(live), storeRetries(this.#run.runtime));
  }

  // The counter is stored only when the inbox is empty, so that a turn does not end with unread entries.
  async #read(live: LiveTask): Promise<readonly InboxEntry[]> {
    if (live.key === undefined) return [];
    const { entries, inboxPut } = await this.#run.runtime.store.inbox(live.key);
    if (entries.length === 0) live.setInboxPut(inboxPut);
    this.#messages = entries.filter(({ send }) => send !== undefined).length;
    return entries;
  }
}

// The trace context that caused a turn.
function readTraceContext({ trace, send }: TurnStart): TraceContext | undefined {
  return trace !== undefined && "traceparent" in trace ? trace : (send.trace ?? trace?.context);
}

// A write numbers its drafts, and a refused one is retried with fresh copies.
const copyDrafts = (drafts: readonly Draft[]): readonly Draft[] => drafts.map((draft) => ({ ...draft }));

function noMessage(): TypeError {
  return new TypeError("the task has ended: no message will come");
}
