import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { play, type Target } from "./fault-connection.js";
import type { Direction, Rule, Schedule } from "./fault-schedule.js";
import { fixedPort } from "./fixed-port.js";

export interface FaultProxyOptions {
  readonly target: Target;
  readonly schedule?: Schedule | undefined;
}

/** How many bytes a connection carried, measured at the caller's end. */
export type Exchange = Readonly<Record<Direction, number>>;

/** A TCP proxy on its own port that spoils connections by a schedule. */
export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Connections that their caller has not closed yet. */
  readonly open: number;
  /** `http://127.0.0.1:<port><path>` */
  url(path?: string): string;
  /** Starts another schedule with the next connection. Open connections keep their rule. */
  setSchedule(schedule: Schedule): Promise<void>;
  /** The sizes of every connection so far, in order. */
  record(): readonly Exchange[];
  /** Resolves when this many bytes came from callers, or went to them, over all connections. */
  waitForBytes(direction: Direction, bytes: number): Promise<void>;
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
}

export async function createFaultProxy({ target, schedule = [] }: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new ScheduledProxy(target);
  await proxy.setSchedule(schedule);
  return proxy;
}

interface Waiter {
  readonly isOver: () => boolean;
  readonly resolve: () => void;
}

const pass: Rule = { kind: "pass" };

class ScheduledProxy implements FaultProxy {
  port = 0;
  readonly #target: Target;
  readonly #callers: Socket[] = [];
  readonly #open = new Set<Socket>();
  #schedule: Schedule = [];
  #nextRule = 0;
  #server: Server | undefined;
  #waiters: readonly Waiter[] = [];

  constructor(target: Target) {
    this.#target = target;
  }

  get connections(): number {
    return this.#callers.length;
  }

  get open(): number {
    return this.#open.size;
  }

  url(path = ""): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  async setSchedule(schedule: Schedule): Promise<void> {
    this.#schedule = [...schedule];
    this.#nextRule = 0;
    // Where a rule refuses, callers may try again for seconds: no server of another test may get the port meanwhile.
    this.port ||= await fixedPort();
    await this.#prepare();
  }

  record(): readonly Exchange[] {
    return this.#callers.map(({ bytesRead, bytesWritten }) => ({ request: bytesRead, response: bytesWritten }));
  }

  waitForBytes(direction: Direction, bytes: number): Promise<void> {
    return this.#until(() => this.record().reduce((sum, sizes) => sum + sizes[direction], 0) >= bytes);
  }

  idle(): Promise<void> {
    return this.#until(() => this.#open.size === 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A pending wait of the old schedule no longer matters.
    this.#schedule = [];
    this.#hush();
    for (const caller of this.#open) caller.destroy();
    await this.idle();
  }

  /** Opens or closes the port, as the rule of the next connection requires. */
  async #prepare(): Promise<void> {
    const schedule = this.#schedule;
    const rule = this.#rule();
    if (rule.kind !== "refuse") return this.#listen();
    this.#hush();
    const goOn = async (): Promise<void> => {
      if (this.#schedule !== schedule) return;
      this.#schedule = schedule.slice(this.#nextRule + 1);
      this.#nextRule = 0;
      await this.#prepare();
    };
    rule.until?.().then(goOn).catch(crash);
  }

  #rule(): Rule {
    return this.#schedule[Math.min(this.#nextRule, this.#schedule.length - 1)] ?? pass;
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (caller) => this.#accept(caller));
    this.#server = server;
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
  }

  #hush(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  #accept(caller: Socket): void {
    this.#callers.push(caller);
    this.#open.add(caller);
    caller.on("error", ignore).on("close", () => {
      this.#open.delete(caller);
      this.#tell();
    });
    const rule = this.#rule();
    this.#nextRule += 1;
    this.#prepare().catch(crash);
    play(rule, { caller, target: this.#target, onProgress: this.#tell });
    this.#tell();
  }

  #until(isOver: () => boolean): Promise<void> {
    if (isOver()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters = [...this.#waiters, { isOver, resolve }];
    });
  }

  readonly #tell = (): void => {
    const finishedWaiters = this.#waiters.filter(({ isOver }) => isOver());
    if (finishedWaiters.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => !finishedWaiters.includes(waiter));
    for (const { resolve } of finishedWaiters) resolve();
  };
}

function ignore(): void {}

/** Failing to reopen the port fails the test. */
function crash(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
