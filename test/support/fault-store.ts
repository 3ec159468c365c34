import type { Clock, PushStore, TaskStore } from "../../src/core/ports.js";

/** How a store call fails: whether it takes effect, what the caller receives, and when. */
export const faultWays = ["fails", "fails after its effect", "answers late", "acts late"] as const;
export type FaultWay = (typeof faultWays)[number];

/** One store call, counted over all stores that share a plan. */
export interface StoreCall {
  readonly index: number;
  readonly method: string;
}

/** Appears in the text of every fault and must never reach a caller. */
export const internals = "/srv/tasks.db";

/** What a spoiled call rejects with. */
class StoreFault extends Error {
  constructor({ index, method }: StoreCall) {
    super(`disk I/O error at ${internals} in ${method}, call ${index}`);
  }
}

export interface FaultPlanOptions {
  readonly clock: Clock;
  /** How long a call hangs before it answers or acts late. */
  readonly hangMs: number;
  /** Which calls fail. Default: none. */
  readonly spoil?: ((call: StoreCall) => FaultWay | undefined) | undefined;
}

/** Decides which calls of one or more stores fail, and records all calls. */
export class FaultPlan {
  /** Methods in the order they were called. */
  readonly calls: string[] = [];
  /** Calls that are unanswered, or whose effect is still pending. */
  hanging = 0;
  /** Number of calls that were made to fail. */
  spoiled = 0;
  readonly #options: FaultPlanOptions;

  constructor(options: FaultPlanOptions) {
    this.#options = options;
  }

  /** Makes one call, and makes it fail if the plan says so. */
  async run(method: string, effect: () => Promise<unknown>): Promise<unknown> {
    const call = { index: this.calls.length, method };
    this.calls.push(method);
    const way = this.#options.spoil?.(call);
    if (way === undefined) return effect();
    this.spoiled += 1;
    if (way === "fails") throw new StoreFault(call);
    if (way === "acts late") return this.#hang().then(effect);
    const result = effect();
    // The store's own refusal also arrives late.
    result.catch(() => {});
    if (way === "answers late") await this.#hang();
    else await result;
    if (way === "fails after its effect") throw new StoreFault(call);
    return result;
  }

  #hang(): Promise<void> {
    const { clock, hangMs } = this.#options;
    this.hanging += 1;
    return new Promise((resolve) => {
      clock.after(hangMs, () => {
        this.hanging -= 1;
        resolve();
      });
    });
  }
}

/** A store whose calls go through a plan. */
export function faultStore(store: TaskStore, plan: FaultPlan): TaskStore {
  return around(store, ({ method }, go) => plan.run(method, go));
}

/** The same for a push store; its methods are counted as `push.set` and so on. */
export function faultPushStore(store: PushStore, plan: FaultPlan): PushStore {
  return around(store, ({ method }, go) => plan.run(`push.${method}`, go));
}

/** A call about to be made. */
export interface MethodCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Wraps every method of a port whose methods all return promises. */
export function around<Port extends object>(
  port: Port,
  run: (call: MethodCall, go: () => Promise<unknown>) => Promise<unknown>,
): Port {
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]) =>
        run({ method: String(name), args }, async (): Promise<unknown> => Reflect.apply(member, target, args));
    },
  });
}
