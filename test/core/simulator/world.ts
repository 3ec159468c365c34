import type { Turn } from "../../../src/core/agent.js";
import type { CoreLimits } from "../../../src/core/limits.js";
import type { Clock, TaskStore } from "../../../src/core/ports.js";
import { createRequestHandler } from "../../../src/core/request-handler.js";
import { type Logger, silentLogger } from "../../../src/protocol/logger.js";
import { isTerminal } from "../../../src/protocol/states.js";
import type { Immediates } from "../../support/immediates.js";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.js";
import { scriptedAgent } from "./agent.js";
import { FaultyStore } from "./faulty-store.js";
import { Journal } from "./journal.js";
import { createBus } from "./lossy-signals.js";
import type { OnceSend } from "./once-send.js";
import { Process } from "./process.js";
import { createRandom, type Random } from "./random.js";
import { drawLimits, drawWeather, isPrompt, type Weather } from "./weather.js";

/** Creates the store that all processes share. */
export type MakeStore = (options: { readonly clock: Clock; readonly finishedLogMs: number }) => TaskStore;

/** The outcome of a send. */
export type SendOutcome = "open" | "answered" | "replied" | "refused" | "unknown";

export interface WorldOptions {
  readonly traced: boolean;
  readonly makeStore: MakeStore;
}

/** Everything that one seed creates: processes on one store, the hints between them, and what was observed. */
export class World {
  readonly time: VirtualClock;
  readonly random: Random;
  readonly weather: Weather;
  readonly limits: Partial<CoreLimits>;
  readonly journal = new Journal();
  readonly store: TaskStore;
  /** The processes that run the agent on a task. */
  readonly running = new Map<string, Process[]>();
  /** The process of each turn. */
  readonly seats = new WeakMap<Turn, Process>();
  /** Turns whose agent waits for the framework. */
  readonly waiting = new Set<Turn>();
  /** Turns whose agent waits for a message. */
  readonly receiving = new Set<Turn>();
  readonly sends = new Map<string, SendOutcome>();
  /** Idempotent sends. */
  readonly onceSends: OnceSend[] = [];
  /** The processes that started the agent for a message. */
  readonly started = new Map<string, Process[]>();
  /** Number of turns started for each task. */
  readonly turns = new Map<string, number>();
  /** Unanswered calls. */
  readonly open = new Set<string>();
  /** Tasks that clients know. */
  readonly knownIds: string[] = [];
  readonly lines: string[] = [];
  /** How far the store's clock was set, in all. */
  setMs = 0;
  calm = false;
  /** Takeovers have had time to happen. */
  recovered = false;
  readonly #bus: ReturnType<typeof createBus>;
  readonly #traced: boolean;
  #processes: { readonly process: Process; readonly store: FaultyStore }[] = [];
  #lastId = 0;
  #processCount = 0;

  constructor(seed: number, immediates: Immediates, { traced, makeStore }: WorldOptions) {
    this.random = createRandom(seed);
    this.#traced = traced;
    this.time = createVirtualClock(Date.UTC(2026, 0, 1), () => immediates.settle());
    this.weather = drawWeather(this.random.fork());
    this.limits = drawLimits(this.random.fork(), this.weather);
    const finishedLogMs = this.weather.shortLogs ? 700 : 3_600_000;
    this.store = makeStore({ clock: this.#storeClock(), finishedLogMs });
    this.#bus = createBus(this.time, this.random.fork(), this.weather);
    for (let index = 0; index < this.weather.processes; index++) this.start();
  }

  get processes(): readonly Process[] {
    return this.#processes.map(({ process }) => process);
  }

  trace(text: () => string): void {
    if (this.#traced) this.lines.push(`${this.time.now() - Date.UTC(2026, 0, 1)} ${text()}`);
  }

  newId(prefix: string): string {
    return `${prefix}${(++this.#lastId).toString(36).padStart(4, "0")}`;
  }

  /** Starts a process. */
  start(): void {
    const { time, random, weather } = this;
    const name = `P${++this.#processCount}`;
    const process = new Process(name, time, random.int(0, weather.skewMs));
    const store = new FaultyStore({ ...this, store: this.store }, process, random.fork());
    if (this.calm) store.calm();
    this.#processes.push({ process, store });
    process.handler = createRequestHandler({
      agent: scriptedAgent(process, this),
      store: store.port,
      signals: this.#bus.of(process),
      clock: process.clock,
      logger: this.#logger(name),
      newId: () => this.newId(`${name}-`),
      limits: this.limits,
      restartable: weather.restartable,
    });
  }

  kill(process: Process): void {
    this.trace(() => `${process.name} dies`);
    process.die();
    this.#processes = this.#processes.filter((each) => each.process !== process);
  }

  /** Shuts a process down gracefully once another one can take the calls. */
  async leave(process: Process): Promise<void> {
    this.trace(() => `${process.name} leaves`);
    const { journal, weather } = this;
    process.leaving = true;
    if (!this.recovered) this.start();
    this.#processes = this.#processes.filter((each) => each.process !== process);
    await process.handler?.close();
    // Calls under way finish.
    await this.sleep(3000);
    this.trace(() => `${process.name} has left`);
    // A write that fails is retried for a while, and a slow reader drains its buffer.
    if (isPrompt(weather) || this.recovered) {
      const { name, timers, waiting } = process;
      if (timers > 0) journal.fail(`${name} leaves ${timers} timers behind`);
      if (waiting > 0) journal.fail(`${name} leaves ${waiting} callers behind`);
      for (const turn of this.waiting)
        if (this.seats.get(turn) === process) journal.fail(`${name} leaves the agent of ${turn.taskId} behind`);
    }
    process.die();
  }

  /** Cuts a process off from the store, or reconnects it. */
  cut(process: Process, out: boolean): void {
    this.trace(() => `${process.name} ${out ? "loses" : "finds"} the store`);
    if (out) process.missed = true;
    for (const each of this.#processes) if (each.process === process) each.store.out = out;
  }

  /** Takes the store away from all processes, or gives it back to one after the other. */
  async cutAll(ms: number, random: Random): Promise<void> {
    this.trace(() => "the store is away");
    for (const { store } of this.#processes) store.away = true;
    await this.sleep(ms);
    this.trace(() => "the store is back");
    for (const { store } of this.#processes) {
      store.away = false;
      await this.sleep(random.int(0, 300));
    }
    // Each process finds it again before the next time.
    await this.sleep(3000);
  }

  /** From now on nothing fails. */
  becalm(): void {
    this.trace(() => "calm");
    this.calm = true;
    this.#bus.calm();
    for (const { process, store } of this.#processes) {
      store.calm();
      process.resume();
    }
    while (this.#processes.length < this.weather.processes) this.start();
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.time.after(ms, resolve));
  }

  /** A process that accepts calls; there is always one. */
  anyProcess(random: Random): Process {
    const [first, ...rest] = this.processes;
    if (first !== undefined) return random.pick([first, ...rest]);
    this.start();
    return this.anyProcess(random);
  }

  /** The agent starts for a message: for the first time, unless an earlier process could be presumed dead. */
  agentStarts(messageId: string, process: Process): void {
    const before = this.started.get(messageId) ?? [];
    this.started.set(messageId, [...before, process]);
    const steady = before.find(({ state, leaving, missed }) => state === "up" && !leaving && !missed);
    if (steady === undefined || this.weather.failing > 0) return;
    this.journal.fail(`${messageId}: the agent runs in ${process.name} and ran in ${steady.name}`);
  }

  /** A client learned of a task. */
  learn(id: string): void {
    if (!this.knownIds.includes(id)) this.knownIds.push(id);
  }

  /** Tasks that have not ended. */
  unfinished(): readonly string[] {
    return [...this.journal.tasks.values()].filter(({ states }) => !isTerminal(states.at(-1) ?? 0)).map(({ id }) => id);
  }

  // Its timers and its monotonic time go on, whatever it is set to.
  #storeClock(): Clock {
    return { ...this.time, now: () => this.time.now() + this.setMs, monotonic: () => this.time.now() };
  }

  #logger(name: string): Logger {
    if (!this.#traced) return silentLogger;
    const log = (fields: object, message: string): void =>
      this.trace(
        () =>
          `${name} ${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? `${value}` : value))}`,
      );
    return { debug: log, info: log, warn: log, error: log };
  }
}
