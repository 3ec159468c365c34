import type { Clock } from "../../../src/core/ports.js";
import type { ReplaceableHandler } from "../../../src/core/request-handler.js";

/** What a caller receives when its process died. */
export class ConnectionLost extends Error {}

/** A process as seen from outside. It may stall, when neither timers nor calls proceed, and it may die. */
export class Process {
  readonly name: string;
  readonly clock: Clock;
  /** The same time for the agent, which owns its timers. */
  readonly agentClock: Clock;
  /** Rejects when it dies. */
  readonly died: Promise<never>;
  handler: ReplaceableHandler | undefined;
  state: "up" | "paused" | "dead" = "up";
  /** It is shutting down: streams end early and new work is refused. */
  leaving = false;
  /** Number of callers waiting for its answer. */
  waiting = 0;
  /** It stalled or was cut off from the store, so others may have presumed it dead. */
  missed = false;
  /** How far its clock was set, in all. */
  setMs = 0;
  #waiting: (() => void)[] = [];
  readonly #timers = new Set<() => void>();
  readonly #agentTimers = new Set<() => void>();
  #reject: (error: Error) => void = () => {};

  constructor(name: string, time: Clock, skewMs: number) {
    this.name = name;
    const now = (): number => time.now() + skewMs + this.setMs;
    const monotonic = (): number => time.now();
    this.clock = { now, monotonic, after: (ms, run) => this.#after(time, this.#timers, { ms, run }) };
    this.agentClock = { now, after: (ms, run) => this.#after(time, this.#agentTimers, { ms, run }) };
    this.died = new Promise<never>((_, reject) => {
      this.#reject = reject;
    });
    this.died.catch(() => {});
  }

  /** Number of pending framework timers. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Resolves when the process runs again; never if it is dead. */
  whenUp(): Promise<void> | undefined {
    if (this.state === "up") return undefined;
    if (this.state === "dead") return new Promise(() => {});
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  pause(): void {
    if (this.state !== "up") return;
    this.state = "paused";
    this.missed = true;
  }

  resume(): void {
    if (this.state !== "paused") return;
    this.state = "up";
    for (const go of this.#waiting.splice(0)) go();
  }

  die(): void {
    if (this.state === "dead") return;
    this.state = "dead";
    this.#waiting = [];
    for (const cancel of [...this.#timers, ...this.#agentTimers]) cancel();
    this.#reject(new ConnectionLost(`${this.name} has died`));
  }

  #after(
    time: Clock,
    timers: Set<() => void>,
    { ms, run }: { readonly ms: number; readonly run: () => void },
  ): () => void {
    if (this.state === "dead") return () => {};
    let canceled = false;
    const cancel = time.after(ms, () => {
      timers.delete(takeBack);
      if (this.state === "up") return run();
      if (this.state === "dead") return;
      this.#waiting.push(() => {
        if (!canceled) run();
      });
    });
    const takeBack = (): void => {
      canceled = true;
      timers.delete(takeBack);
      cancel();
    };
    timers.add(takeBack);
    return takeBack;
  }
}
