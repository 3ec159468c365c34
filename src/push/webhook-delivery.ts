import { setImmediate } from "node:timers/promises";
import type { LogRecord, PushRegistration } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import { unlessAborted } from "../protocol/async/pause.js";
import type { StreamResponse } from "../protocol/model.js";
import { isTerminal } from "../protocol/states.js";
import { type AskStore, createAskStore } from "./ask-store.js";
import { type DueEvent, DueEvents, pageRecords, taskEvent, toPosition } from "./due-events.js";
import { LazyCursor } from "./lazy-cursor.js";
import { type Plan, planArtifacts, planEvents } from "./plan.js";
import { type DeliveryDeps, WebhookSender } from "./webhook-sender.js";

// Webhooks: events of tasks are sent to the URLs that callers configured, in order and at least once.
//
//   log ──▶ plan.ts ──▶ WebhookDelivery ──▶ AttemptScheduler ──▶ WebhookSender ──▶ webhook
//           is it due   a position          when to call         attempts
//                           └──▶ LazyCursor ──▶ store
//
// There is one delivery for each configuration of an unfinished task, in the process that holds the configuration. It
// waits for a hint or the poll, reads the log behind its position, and sends what is due, one event at a time. It keeps
// no event while it waits: what it has read is dropped and read again in its turn. When its process has gone, another
// one adopts the configuration (`adoption.ts`) and goes on at the stored cursor.
//
// Invariant: the cursor never passes an event that was neither delivered nor given up. Where the log no longer has an event,
// the task is sent instead.

/** The deliveries of a process: one for each configuration of an unfinished task. */
export interface WebhookDeliveries {
  /** The task may have new records. */
  wake(taskId: string): void;
  /** Returns false when it was already running. */
  add(registration: PushRegistration): boolean;
  remove(taskId: string, id: string): void;
  /** Accepts no more, lets all deliveries send what is pending, and resolves when they have ended. */
  drain(): Promise<void>;
  /** Stops all deliveries at once. */
  stop(): void;
}

const pollMs = 1000;

export function createWebhookDeliveries(deps: DeliveryDeps): WebhookDeliveries {
  const { tasks, clock, logger } = deps;
  const byTask = new Map<string, Map<string, WebhookDelivery>>();
  let cancelPoll: (() => void) | undefined;
  let closed = false;

  const all = (): readonly WebhookDelivery[] => [...byTask.values()].flatMap((deliveries) => [...deliveries.values()]);

  // Hints may be lost: one poll per second finds deliveries that are behind or whose task is gone.
  const poll = async (): Promise<void> => {
    const deliveries = all();
    try {
      const heads = await tasks.heads([...new Set(deliveries.map(({ key }) => key))]);
      const seqs = new Map(heads.map(({ key, seq }) => [key, seq]));
      for (const delivery of deliveries) {
        if ((seqs.get(delivery.key) ?? Number.POSITIVE_INFINITY) > delivery.position) delivery.wake();
      }
    } catch (error) {
      logger.warn({ err: error }, "the tasks of push configurations could not be polled");
    }
    cancelPoll = undefined;
    schedulePoll();
  };

  const schedulePoll = (): void => {
    if (closed || byTask.size === 0) return;
    cancelPoll ??= clock.after(pollMs, () => void poll());
  };

  const start = (registration: PushRegistration): void => {
    const { taskId, config } = registration;
    const delivery = new WebhookDelivery(deps, registration);
    const deliveries = byTask.get(taskId) ?? new Map<string, WebhookDelivery>();
    byTask.set(taskId, deliveries.set(config.id, delivery));
    void delivery.completion.then(() => {
      if (deliveries.get(config.id) === delivery) deliveries.delete(config.id);
      if (deliveries.size === 0 && byTask.get(taskId) === deliveries) byTask.delete(taskId);
    });
    schedulePoll();
  };

  return {
    wake(taskId) {
      for (const delivery of byTask.get(taskId)?.values() ?? []) delivery.wake();
    },
    add(registration) {
      if (closed) return false;
      const existing = byTask.get(registration.taskId)?.get(registration.config.id);
      if (existing?.finished !== false) start(registration);
      else existing.replace(registration);
      return existing?.finished !== false;
    },
    remove(taskId, id) {
      byTask.get(taskId)?.get(id)?.stop();
    },
    async drain() {
      closed = true;
      cancelPoll?.();
      const deliveries = all();
      for (const delivery of deliveries) delivery.drain();
      await Promise.all(deliveries.map(({ completion: done }) => done));
    },
    stop() {
      for (const delivery of all()) delivery.stop();
    },
  };
}

class DeliveryStopped extends Error {}

/**
 * Delivers a task's events to one webhook, in order, one at a time. It is a log position with a wake-up: while it
 * waits for its turn to call, it keeps no events.
 */
class WebhookDelivery {
  readonly key: number;
  readonly taskId: string;
  readonly id: string;
  /** Resolves when it has ended: with its task or configuration, when another process delivers, or when stopped. */
  readonly completion: Promise<void>;
  /** Number of the last record seen. */
  position: number;
  /** True when it sends nothing more: a new registration needs a new delivery. */
  finished = false;
  readonly #deps: DeliveryDeps;
  readonly #scope: PushRegistration["scope"];
  readonly #holder: string;
  /** Records up to here are not delivered. */
  readonly #from: number;
  #plan: Plan;
  readonly #events: DueEvents;
  readonly #cursor: LazyCursor;
  readonly #ask: AskStore;
  readonly #sender: WebhookSender;
  /** Aborts everything. */
  readonly #stop = new AbortController();
  /** Aborts waiting; calls continue. */
  readonly #flushNow = new AbortController();
  /** The due events up to the position. */
  #due: readonly DueEvent[] = [];
  /** Grows from one after a wait, since the rest of a page is dropped at the next wait. */
  #pageRecords = pageRecords;
  #dirty: boolean = true;
  #wakeUp = noop;

  constructor(deps: DeliveryDeps, registration: PushRegistration) {
    this.#deps = deps;
    this.key = registration.key;
    this.taskId = registration.taskId;
    this.id = registration.config.id;
    this.#scope = registration.scope;
    this.#holder = deps.instance ?? registration.holder;
    this.#from = registration.cursor;
    this.#ask = createAskStore({
      clock: deps.clock,
      stop: this.#stop.signal,
      flushNow: this.#flushNow.signal,
      onError: (error) => deps.logger.warn(this.#logFields({ err: error }), "push deliveries wait for the store"),
    });
    this.#events = new DueEvents(deps.tasks, registration, this.#ask);
    this.#sender = new WebhookSender(deps, registration, {
      ask: this.#ask,
      stop: this.#stop.signal,
      flushNow: this.#flushNow.signal,
      onGone: () => {
        this.finished = true;
      },
    });
    this.#cursor = this.#createCursor(registration.cursor);
    this.#plan = deps.everyEvent ? planEvents : planArtifacts();
    // An artifact may have started earlier: records up to the cursor are read too, but not sent.
    this.position = deps.everyEvent ? registration.cursor : 0;
    this.completion = this.#run();
  }

  /** The configuration was replaced. Delivery continues from its position, so that nothing is lost. */
  replace(registration: PushRegistration): void {
    this.#sender.replace(registration);
    this.wake();
  }

  /** The task may have new records. */
  wake(): void {
    this.#dirty = true;
    this.#wakeUp();
  }

  /** Sends what the log has, waits for nothing more, and ends. */
  drain(): void {
    this.#flushNow.abort(new DeliveryStopped());
    this.wake();
  }

  /** Ends now; a call under way is aborted. */
  stop(): void {
    this.finished = true;
    this.#stop.abort(new DeliveryStopped());
    this.drain();
  }

  async #run(): Promise<void> {
    try {
      do await this.#waitForWake();
      while (await this.#readToEnd());
    } catch (error) {
      if (!(error instanceof DeliveryStopped))
        this.#deps.logger.error(this.#logFields({ err: error }), "push deliveries have ended early");
    } finally {
      this.finished = true;
    }
    // Otherwise the process that takes over would repeat the latest deliveries.
    await this.#cursor.end();
  }

  async #waitForWake(): Promise<void> {
    // An idle task costs no memory.
    if (!this.#dirty) this.#events.forget();
    while (!this.#dirty) {
      this.#flushNow.signal.throwIfAborted();
      await new Promise<void>((resolve) => {
        this.#wakeUp = resolve;
      });
    }
    // Off the turn's path; and concurrent hints cause one read.
    await setImmediate();
    this.#stop.signal.throwIfAborted();
    this.#dirty = false;
  }

  // Handles the log up to its end. Returns false when nothing can follow.
  async #readToEnd(): Promise<boolean> {
    for (;;) {
      if (!(await this.#sendDue())) return false;
      const next = await this.#readPage();
      if (next !== "more") return next === "read";
    }
  }

  async #readPage(): Promise<"more" | "read" | "ended"> {
    const limit = this.#pageRecords;
    const page = await this.#ask(() => this.#deps.tasks.recordsAfter(this.key, this.position, limit));
    if (page === undefined) return this.#finish(() => this.#deps.store.delete(this.key, this.id));
    this.#pageRecords = Math.min(limit * 2, pageRecords);
    const isKept = page === "compacted" ? await this.#sendTask() : await this.#handle(page.records);
    if (!isKept) return "ended";
    if (page === "compacted" || this.#due.length > 0) return "more";
    if (page.records.length > 0 && this.position < page.head.seq) return "more";
    if (isTerminal(page.head.state)) return this.#settle(page.head.seq);
    // A task without a holder has nothing due, so the next process need not check it.
    if (page.head.holder === "") this.#cursor.move(this.position);
    return "read";
  }

  // Returns false when the configuration is gone.
  async #handle(records: readonly LogRecord[]): Promise<boolean> {
    for (const record of records) {
      if (record.seq <= this.position) continue;
      this.#due = this.#dueAt(record);
      if (this.#due.length > 0 && !this.#sender.isFree) {
        this.#leaveMemory(record.seq);
        return true;
      }
      if (!(await this.#sendDue())) return false;
      // The task was sent instead, and delivery continues after it.
      if (this.position < record.seq) break;
    }
    return true;
  }

  #dueAt(record: LogRecord): readonly DueEvent[] {
    const due = this.#plan(record);
    this.position = record.seq;
    if (due.length === 0 || record.seq <= this.#from) return [];
    // A webhook that receives tasks gets everything due at once.
    return this.#sender.delivers === "task" ? [{ kind: "task", seq: record.seq }] : due;
  }

  // While it waits, it keeps only positions in the log.
  #leaveMemory(seq: number): void {
    this.#due = this.#due.map((due) => toPosition(due, seq));
    this.#events.forget();
    this.#pageRecords = 1;
  }

  // Returns false when the configuration is gone.
  async #sendDue(): Promise<boolean> {
    if (this.#due.length === 0) return true;
    for (const due of this.#due) {
      const result = await this.#sender.deliver(() => this.#events.read(due));
      if (result === "gone") return false;
      if (result === "lost") return this.#sendTask();
    }
    this.#due = [];
    this.#cursor.move(this.position);
    return true;
  }

  // When the log no longer has an event, the task is sent instead. Returns false when the configuration is gone.
  async #sendTask(): Promise<boolean> {
    this.#due = [];
    const result = await this.#sender.deliver(() => this.#currentTask());
    if (result === "done") this.#cursor.move(this.position);
    return result !== "gone";
  }

  // `undefined` when there is nothing to send: the webhook has the task already, or the task is gone. The next read
  // finds that.
  async #currentTask(): Promise<StreamResponse | undefined> {
    const storedTask = await this.#ask(() => this.#deps.tasks.read(this.#scope, this.taskId));
    if (storedTask === undefined) return undefined;
    if (storedTask.snapshot === undefined) throw new TypeError("the log does not reach back, and there is no snapshot");
    const { task, seq } = storedTask.snapshot;
    this.position = seq;
    // The start of its artifacts is unknown: from here on each chunk extends what the task showed.
    this.#plan = planEvents;
    return seq > this.#from ? taskEvent(task) : undefined;
  }

  // Everything is delivered: the configuration stays with its task and is not adopted.
  #settle(cursor: number): Promise<"ended"> {
    const end = { holder: this.#holder, cursor };
    return this.#finish(() => this.#deps.store.settle(this.key, this.id, end));
  }

  async #finish(write: () => Promise<void>): Promise<"ended"> {
    this.finished = true;
    this.#cursor.drop();
    await this.#ask(write);
    return "ended";
  }

  #createCursor(cursor: number): LazyCursor {
    const { clock, store, logger } = this.#deps;
    const { signal } = this.#stop;
    return new LazyCursor({
      clock,
      cursor,
      write: (position) => unlessAborted(store.advance(this.key, this.id, position), signal),
      onError: (error) => {
        if (!signal.aborted)
          logger.warn(this.#logFields({ err: error }), "the position of a webhook could not be stored");
      },
    });
  }

  #logFields(fields: object): object {
    return { taskId: this.taskId, id: this.id, ...fields };
  }
}
