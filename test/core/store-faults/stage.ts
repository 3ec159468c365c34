import type { Append, Clock, Head, Hint, NewTask, Signals, TaskStore } from "../../../src/core/ports.js";
import { createRequestHandler } from "../../../src/core/request-handler.js";
import type { Logger } from "../../../src/protocol/logger.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { around, type FaultPlan, faultStore } from "../../support/fault-store.js";
import type { Immediates } from "../../support/immediates.js";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.js";
import { Journal } from "../simulator/journal.js";
import { Process } from "../simulator/process.js";
import { playedAgent } from "./agent.js";
import { type PushOf, Webhooks } from "./webhooks.js";

/**
 * Two handlers on one store whose calls fail by a plan, with a record of the store's effects and of unanswered calls.
 */
export class Stage {
  readonly time: VirtualClock;
  readonly journal = new Journal();
  /** The store itself: faults happen on the way to it. */
  readonly store: TaskStore;
  readonly plan: FaultPlan;
  readonly here: Process;
  readonly there: Process;
  /** The processes that run an agent on a task. */
  readonly running = new Map<string, Process[]>();
  /** Unanswered calls. */
  readonly open = new Set<string>();
  readonly signals: AbortSignal[] = [];
  readonly listeners = new Set<(hint: Hint) => void>();
  readonly webhooks = new Webhooks(() => this.#expired());
  /** Timers of an idle process: the heartbeat, and the sweep for push configurations without a courier. */
  readonly idleTimers: number;
  /** Warnings and errors of the handlers. */
  readonly lines: string[] = [];
  readonly #start: number;
  readonly #push = new Map<Process, PushOf>();
  readonly #closed = new Set<Process>();
  /** Expiry of each instance. */
  readonly #lives = new Map<string, number>();

  constructor(options: {
    readonly immediates: Immediates;
    readonly plan: (clock: Clock) => FaultPlan;
    /** With push notifications. */
    readonly push: boolean;
  }) {
    this.time = createVirtualClock(Date.UTC(2026, 0, 1), () => options.immediates.settle());
    this.#start = this.time.now();
    this.idleTimers = options.push ? 2 : 1;
    this.plan = options.plan(this.time);
    const memory = memoryTaskStore({ clock: this.time, incarnation: "i", finishedLogMs: 3_600_000 });
    this.store = memory;
    this.here = this.#process("here", memory, options.push);
    this.there = this.#process("there", memory, options.push);
  }

  /** Processes that were not shut down. */
  get processes(): readonly Process[] {
    return [this.here, this.there].filter((process) => !this.#closed.has(process));
  }

  fail(text: string): void {
    this.journal.fail(`after ${this.elapsedMs} ms: ${text}`);
  }

  get elapsedMs(): number {
    return this.time.now() - this.#start;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.time.after(ms, resolve));
  }

  /** Advances the clock until the work is done. False if it was not done in time. */
  async turn(work: Promise<unknown>, mostMs: number): Promise<boolean> {
    let done = false;
    const end = work.finally(() => {
      done = true;
    });
    end.catch(() => {});
    for (let spent = 0; !done && spent < mostMs; spent += 250) await this.time.advance(250);
    if (done) await end;
    return done;
  }

  /** Shuts a process down as a server does. */
  async close(process: Process): Promise<void> {
    this.#closed.add(process);
    await this.#push.get(process)?.close();
    await process.handler?.close();
  }

  #expired(): readonly string[] {
    return [...this.#lives].filter(([, until]) => until <= this.time.now()).map(([instance]) => instance);
  }

  #process(name: string, memory: TaskStore, withPush: boolean): Process {
    const process = new Process(name, this.time, 0);
    const store = gated(faultStore(this.#record(memory, name), this.plan), process);
    const push = withPush ? this.webhooks.of(this, process, store) : undefined;
    if (push !== undefined) this.#push.set(process, push);
    let ids = 0;
    process.handler = createRequestHandler({
      agent: playedAgent(process, this.running),
      store,
      signals: this.#bus(),
      clock: process.clock,
      logger: this.#logger(name),
      newId: () => `${name}-${++ids}`,
      push: push?.service,
    });
    return process;
  }

  // Records what took effect.
  #record(store: TaskStore, name: string): TaskStore {
    const { journal } = this;
    return around(store, async ({ method, args }, go) => {
      const result = await go();
      if (method === "create") journal.created(name, args[0] as NewTask, result as Head);
      if (method === "append" && result === "stored") journal.appended(name, args[0] as Append);
      if (method === "withdraw" && result === true) journal.withdrawn(String(args[1]));
      if (method === "renew") this.#lives.set(String(args[0]), this.time.now() + Number(args[1]));
      if (method === "retire") this.#lives.set(String(args[0]), this.time.now());
      return result;
    });
  }

  #bus(): Signals {
    const { listeners } = this;
    return {
      publish(hint) {
        for (const listener of listeners) listener(hint);
      },
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
  }

  #logger(name: string): Logger {
    const log = (fields: object, message: string): void => {
      const text = JSON.stringify(fields, (_, value) => (value instanceof Error ? `${value}` : value));
      this.lines.push(`${this.elapsedMs} ${name} ${message} ${text}`);
    };
    return { debug: () => {}, info: () => {}, warn: log, error: log };
  }
}

/** A stalled process neither sends calls nor receives answers. */
function gated(store: TaskStore, process: Process): TaskStore {
  return around(store, async (_, go) => {
    await process.whenUp();
    const result = await go().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await process.whenUp();
    if ("error" in result) throw result.error;
    return result.value;
  });
}
