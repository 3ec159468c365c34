import type { Message } from "../protocol/model.js";
import type { Draft } from "./flight.js";
import { type LiveTask, messageDraft } from "./live-task.js";
import type { Head, Hint, InboxEntry, QueuedSend } from "./ports.js";
import { sizeOfMessage } from "./size.js";
import type { TurnRun } from "./turn-run.js";
import type { Watcher } from "./watch.js";

interface Receiver {
  /** False as long as what was said before is not stored, and while a message is being taken. */
  ready: boolean;
  readonly resolve: (message: Message) => void;
  readonly reject: (reason: unknown) => void;
}

/** A turn's view of its task's inbox: hears of cancels, hands messages to `receive`, and ends the turn when nothing waits. */
export class TurnInbox implements Watcher {
  readonly #run: TurnRun;
  #live: LiveTask | undefined;
  #receiver: Receiver | undefined;
  #checking = false;
  #again = false;
  #closed = false;

  constructor(run: TurnRun) {
    this.#run = run;
  }

  get taskId(): string {
    return this.#run.taskId;
  }

  get key(): number | undefined {
    return this.#live?.key;
  }

  watch(live: LiveTask): void {
    this.#live = live;
    // A turn may make its task with its very last word.
    if (!this.#closed) this.#run.runtime.watch.add(this);
  }

  wake(kind: Hint["kind"]): void {
    if (kind === "inbox") this.#look();
  }

  check(head: Head): void {
    const live = this.#live;
    if (live === undefined || this.#closed) return;
    if (head.epoch > live.epoch && head.holder !== this.#run.runtime.instance) this.#run.abort("OwnershipLost");
    else if (head.inboxPut !== live.inboxPut) this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#receiver?.reject(noMessage());
    this.#run.runtime.watch.delete(this);
  }

  /** Waits for the next message and takes it. One at a time. */
  async receive(): Promise<Message> {
    const refusal = this.#run.refusal();
    if (refusal !== undefined) throw refusal;
    if (this.#receiver !== undefined) throw new TypeError("a turn receives one message at a time");
    const live = this.#run.ensureTask();
    const { promise: taken, resolve, reject } = Promise.withResolvers<Message>();
    taken.catch(() => {});
    const receiver: Receiver = { ready: false, resolve, reject };
    this.#receiver = receiver;
    try {
      await this.#run.orAborted(this.#run.flushed());
      if (live.closed) throw noMessage();
      receiver.ready = true;
      this.#look();
      return await this.#run.orAborted(taken);
    } finally {
      this.#receiver = undefined;
    }
  }

  /**
   * Ends the turn in a state that is not terminal, unless something waits: then a cancel ends the task, and a message
   * starts the next turn in the same write.
   */
  async endTurn(live: LiveTask, ended: Draft): Promise<void> {
    await live.flushed();
    let takes: readonly string[] | undefined;
    for (;;) {
      const result = await live.exclusive([ended], 0, { end: { inboxPut: live.inboxPut }, takes });
      if (result !== "inboxMoved") return;
      const entries = await this.#read(live);
      if (entries.some((entry) => entry.kind === "cancel")) return this.#run.cancelNow();
      const entry = entries.find((each) => each.send !== undefined);
      if (entry?.send !== undefined && (await this.#nextTurn(live, ended, entry, entry.send))) return;
      // A turn that ran has heard of its wakes.
      takes = entries.length === 0 ? undefined : entries.map(({ id }) => id);
    }
  }

  async #nextTurn(live: LiveTask, ended: Draft, entry: InboxEntry, send: QueuedSend): Promise<boolean> {
    const { runtime, scope } = this.#run;
    const turn = live.turn + 1;
    const drafts: Draft[] = [
      { ...ended },
      { kind: "turnStarted", turn, attempt: 1, cause: "message" },
      messageDraft(live, entry.id, send.message),
    ];
    const result = await live.exclusive(drafts, sizeOfMessage(send.message), { claim: { turn }, takes: [entry.id] });
    if (result !== "stored") return result === "fenced";
    const principal = live.senderOf(entry.id) ?? { ...scope };
    live.forgetSender(entry.id);
    runtime.startTurn({ cause: "message", attempt: 1, principal, scope, entry: entry.id, send }, { live });
    return true;
  }

  #look(): void {
    if (this.#checking) {
      this.#again = true;
      return;
    }
    this.#checking = true;
    void this.#lookNow();
  }

  async #lookNow(): Promise<void> {
    try {
      do {
        this.#again = false;
        await this.#handle();
      } while (this.#again && !this.#closed);
    } catch (error) {
      // The poll looks again.
      this.#run.runtime.logger.warn({ taskId: this.taskId, error }, "the inbox could not be read");
    } finally {
      this.#checking = false;
    }
  }

  async #handle(): Promise<void> {
    const live = this.#live;
    if (live?.key === undefined || this.#closed || live.closed) return;
    const entries = await this.#read(live);
    if (this.#closed) return;
    if (entries.some((entry) => entry.kind === "cancel")) return this.#run.abort("Canceled");
    const entry = entries.find((each) => each.send !== undefined);
    const receiver = this.#receiver;
    if (receiver?.ready !== true || entry?.send === undefined) return;
    receiver.ready = false;
    if (await this.#run.take(live, entry, entry.send)) return receiver.resolve(entry.send.message);
    receiver.ready = true;
    this.#again = true;
  }

  // The count is remembered only when nothing waits but a wake, so that a turn does not end over a message that it has seen.
  async #read(live: LiveTask): Promise<readonly InboxEntry[]> {
    if (live.key === undefined) return [];
    const { entries, inboxPut } = await this.#run.runtime.store.inbox(live.key);
    if (entries.every(({ kind }) => kind === "wake")) live.inboxPut = inboxPut;
    return entries;
  }
}

function noMessage(): TypeError {
  return new TypeError("the task has ended: no message will come");
}
