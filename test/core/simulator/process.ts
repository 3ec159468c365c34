import type { Clock } from "../../../src/core/ports.js";
import type { HostedHandler } from "../../../src/core/request-handler.js";

/** What a caller gets whose process has died. */
export class ConnectionLost extends Error {}

/**
 * A process as its outside sees it: it may stop for a while, when neither its timers run nor its calls come through, and
 * it may die, when nothing of it is ever heard of again.
 */
export class Process {
  readonly name: string;
  readonly clock: Clock;
  /** The same time for the agent, whose timers are its own affair. */
  readonly agentClock: Clock;
  /** Rejects when it dies. */
  readonly died: Promise<never>;
  handler: HostedHandler | undefined;
  state: "up" | "paused" | "dead" = "up";
  /** Is being shut down: its streams end early, and it takes no new work. */
  leaving = false;
  /** Callers that wait for it to say something. */
  waiting = 0;
  /** Has stood still, or was cut off the store: others may have taken it for dead. */
  missed = false;
  #waiting: (() => void)[] = [];
  readonly #timers = new Set<() => void>();
  readonly #agentTimers = new Set<() => void>();
  #reject: (error: Error) => void = () => {};

  constructor(name: string, time: Clock, skewMs: number) {
    this.name = name;
    const now = (): number => time.now() + skewMs;
    this.clock = { now, after: (ms, run) => this.#after(time, this.#timers, { ms, run }) };
    this.agentClock = { now, after: (ms, run) => this.#after(time, this.#agentTimers, { ms, run }) };
    this.died = new Promise<never>((_, reject) => {
      this.#reject = reject;
    });
    this.died.catch(() => {});
  }

  /** How many timers of the framework wait. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Goes on when the process does; never when it is dead. */
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
