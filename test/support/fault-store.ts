import type { Clock, PushStore, TaskStore } from "../../src/core/ports.js";

/** How a call of a store goes wrong: whether it takes effect and what the caller hears, and when. */
export const faultWays = ["fails", "fails after its effect", "answers late", "acts late"] as const;
export type FaultWay = (typeof faultWays)[number];

/** One call of a store, counted over all that share a plan. */
export interface StoreCall {
  readonly index: number;
  readonly method: string;
}

/** In the text of every fault, and in no text that a caller may see. */
export const internals = "/srv/tasks.db";

/** What a spoiled call rejects with. */
class StoreFault extends Error {
  constructor({ index, method }: StoreCall) {
    super(`disk I/O error at ${internals} in ${method}, call ${index}`);
  }
}

export interface FaultPlanOptions {
  readonly clock: Clock;
  /** How long a call hangs that answers or acts late. */
  readonly hangMs: number;
  /** Which calls are spoiled. Default: none. */
  readonly spoil?: ((call: StoreCall) => FaultWay | undefined) | undefined;
}

/** Which calls of one or more stores go wrong, and what was called. */
export class FaultPlan {
  /** Methods in the order of their calls. */
  readonly calls: string[] = [];
  /** Calls that have not been answered, or whose effect is still to come. */
  hanging = 0;
  /** How many calls were spoiled. */
  spoiled = 0;
  readonly #options: FaultPlanOptions;

  constructor(options: FaultPlanOptions) {
    this.#options = options;
  }

  /** Makes one call, and spoils it when it is due. */
  async run(method: string, effect: () => Promise<unknown>): Promise<unknown> {
    const call = { index: this.calls.length, method };
    this.calls.push(method);
    const way = this.#options.spoil?.(call);
    if (way === undefined) return effect();
    this.spoiled += 1;
    if (way === "fails") throw new StoreFault(call);
    if (way === "acts late") return this.#hang().then(effect);
    const result = effect();
    // An effect that the store itself refuses is heard of late as well.
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

/** A store whose calls go the way of a plan. */
export function faultStore(store: TaskStore, plan: FaultPlan): TaskStore {
  return around(store, ({ method }, go) => plan.run(method, go));
}

/** The same for push configurations; their methods are counted as `push.set`, and so on. */
export function faultPushStore(store: PushStore, plan: FaultPlan): PushStore {
  return around(store, ({ method }, go) => plan.run(`push.${method}`, go));
}

/** A call that is about to be made. */
export interface MethodCall {
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Puts something around every method of a port whose methods all give promises. */
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
