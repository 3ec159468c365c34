import { setImmediate } from "node:timers/promises";
import type { LogRecord, PushRegistration } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import { unlessAborted } from "../protocol/async/pause.js";
import type { StreamResponse, Task } from "../protocol/model.js";
import { isTerminal } from "../protocol/states.js";
import { type AskStore, createAskStore } from "./ask-store.js";
import { joinChunks, pageRecords } from "./join-chunks.js";
import { LazyCursor } from "./lazy-cursor.js";
import { type ChunkRun, type Due, type Plan, planArtifacts, planEvents } from "./plan.js";
import { TaskReplay } from "./task-replay.js";
import { type DeliveryDeps, WebhookSender } from "./webhook-sender.js";

class Stopped extends Error {}

/**
 * Delivers a task's events to one webhook, in order, one at a time. It is a log position with a wake-up and keeps no
 * events, so a slow or unreachable webhook delays no other.
 */
export class WebhookDelivery {
  readonly key: number;
  readonly taskId: string;
  readonly id: string;
  /** Resolves when it has ended: with its task or configuration, when another process delivers, or when stopped. */
  readonly done: Promise<void>;
  /** Number of the last record seen. */
  position: number;
  /** Set when it does nothing more: a new registration needs a new delivery. */
  finished = false;
  readonly #deps: DeliveryDeps;
  readonly #scope: PushRegistration["scope"];
  readonly #holder: string;
  /** Records up to here are not delivered. */
  readonly #from: number;
  #plan: Plan;
  readonly #replay: TaskReplay;
  readonly #cursor: LazyCursor;
  readonly #ask: AskStore;
  readonly #delivery: WebhookSender;
  /** Aborts everything. */
  readonly #stop = new AbortController();
  /** Aborts waiting; calls continue. */
  readonly #hurry = new AbortController();
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
    this.#replay = new TaskReplay(deps.tasks, registration);
    this.#ask = createAskStore({
      clock: deps.clock,
      stop: this.#stop.signal,
      hurry: this.#hurry.signal,
      onError: (error) => deps.logger.warn(this.#said({ error }), "push deliveries wait for the store"),
    });
    this.#delivery = new WebhookSender(deps, registration, {
      ask: this.#ask,
      stop: this.#stop.signal,
      hurry: this.#hurry.signal,
      onGone: () => {
        this.finished = true;
      },
    });
    this.#cursor = this.#createCursor(registration.cursor);
    this.#plan = deps.everyEvent ? planEvents : planArtifacts();
    // An artifact may have started earlier: records up to the cursor are read too, but not sent.
    this.position = deps.everyEvent ? registration.cursor : 0;
    this.done = this.#run();
  }

  /** The configuration was replaced. Delivery continues from its position, so that nothing is lost. */
  replace(registration: PushRegistration): void {
    this.#delivery.replace(registration);
    this.wake();
  }

  /** The task may have new records. */
  wake(): void {
    this.#dirty = true;
    this.#wakeUp();
  }

  /** Sends what the log has, waits for nothing more, and ends. */
  drain(): void {
    this.#hurry.abort(new Stopped());
    this.wake();
  }

  /** Ends now; a call under way is aborted. */
  stop(): void {
    this.finished = true;
    this.#stop.abort(new Stopped());
    this.drain();
  }

  async #run(): Promise<void> {
    try {
      do await this.#woken();
      while (await this.#readOn());
    } catch (error) {
      if (!(error instanceof Stopped))
        this.#deps.logger.error(this.#said({ error }), "push deliveries have ended early");
    } finally {
      this.finished = true;
    }
    // Otherwise the process that takes over would repeat the latest deliveries.
    await this.#cursor.end();
  }

  async #woken(): Promise<void> {
    // An idle task costs no memory.
    if (!this.#dirty) this.#replay.forget();
    while (!this.#dirty) {
      this.#hurry.signal.throwIfAborted();
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
  async #readOn(): Promise<boolean> {
    for (;;) {
      const page = await this.#ask(() => this.#deps.tasks.recordsAfter(this.key, this.position, pageRecords));
      if (page === undefined) return this.#finish(() => this.#deps.store.delete(this.key, this.id));
      const isKept = page === "compacted" ? await this.#tellTask() : await this.#dealWith(page.records);
      if (!isKept) return false;
      if (page === "compacted" || (page.records.length > 0 && this.position < page.head.seq)) continue;
      if (isTerminal(page.head.state)) return this.#settle(page.head.seq);
      // A task without a holder has nothing due, so the next process need not check it.
      if (page.head.holder === "") this.#cursor.move(this.position);
      return true;
    }
  }

  // Returns false when the configuration is gone.
  async #dealWith(records: readonly LogRecord[]): Promise<boolean> {
    for (const record of records) {
      if (record.seq <= this.position) continue;
      if (!(await this.#deal(record))) return false;
      // The task was sent instead, and delivery continues after it.
      if (this.position < record.seq) break;
    }
    return true;
  }

  // Returns false when the configuration is gone.
  async #deal(record: LogRecord): Promise<boolean> {
    const due = this.#plan(record);
    this.position = record.seq;
    if (due.length === 0 || record.seq <= this.#from) return true;
    // A webhook that receives tasks gets everything due at once.
    const delivered = this.#delivery.tells === "task" ? [{ kind: "task", seq: record.seq } as const] : due;
    for (const each of delivered) {
      const event = await this.#eventOf(each);
      if (event === undefined) return this.#tellTask();
      if (!(await this.#delivery.deliver(event))) return false;
    }
    this.#cursor.move(this.position);
    return true;
  }

  // `undefined` when the log no longer has it.
  async #eventOf(due: Due | { readonly kind: "task"; readonly seq: number }): Promise<StreamResponse | undefined> {
    if (due.kind === "event") return due.event;
    if (due.kind === "chunks") return this.#joined(due.run);
    const task = await this.#ask(() => this.#replay.at(due.seq));
    return task === undefined ? undefined : taskEvent(task);
  }

  #joined(run: ChunkRun): Promise<StreamResponse | undefined> {
    return this.#ask(() => joinChunks(this.#deps.tasks, this.key, run));
  }

  // When the log no longer has an event, the task is sent instead. Returns false when the configuration is gone.
  async #tellTask(): Promise<boolean> {
    const stored = await this.#ask(() => this.#deps.tasks.read(this.#scope, this.taskId));
    // The next read finds that it is gone.
    if (stored === undefined) return true;
    if (stored.snapshot === undefined) throw new TypeError("the log does not reach back, and there is no snapshot");
    const { task, seq } = stored.snapshot;
    this.position = seq;
    // The start of its artifacts is unknown: from here on each chunk extends what the task showed.
    this.#plan = planEvents;
    if (seq <= this.#from) return true;
    const delivered = await this.#delivery.deliver(taskEvent(task));
    if (delivered) this.#cursor.move(this.position);
    return delivered;
  }

  // Everything is delivered: the configuration stays with its task and is not adopted.
  #settle(cursor: number): Promise<false> {
    const end = { holder: this.#holder, cursor };
    return this.#finish(() => this.#deps.store.settle(this.key, this.id, end));
  }

  async #finish(write: () => Promise<void>): Promise<false> {
    this.finished = true;
    this.#cursor.drop();
    await this.#ask(write);
    return false;
  }

  #createCursor(cursor: number): LazyCursor {
    const { clock, store, logger } = this.#deps;
    const { signal } = this.#stop;
    return new LazyCursor({
      clock,
      cursor,
      write: (delivered) => unlessAborted(store.advance(this.key, this.id, delivered), signal),
      onError: (error) => {
        if (!signal.aborted) logger.warn(this.#said({ error }), "how far a webhook was told could not be stored");
      },
    });
  }

  #said(fields: object): object {
    return { taskId: this.taskId, id: this.id, ...fields };
  }
}

function taskEvent(task: Task): StreamResponse {
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } };
}
