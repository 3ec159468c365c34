import type { StatusObject } from "@grpc/grpc-js";
import { over, type Step } from "../../protocol/async/steps.js";
import type { StreamItem } from "../../protocol/operations.js";
import type { CallListener, OpenCall } from "./internals/open-call.js";

/** What the items of a streaming call come from. */
export interface ItemSource {
  /** Makes the call. `undefined`: the reader has left before. */
  open(listener: CallListener): Promise<OpenCall | undefined>;
  /** The items of one message, none or several. Throws for what is no such message. */
  read(message: Uint8Array): readonly StreamItem[];
  /** True when nothing more is to come, though the peer may leave its end open. */
  isOver(): boolean;
  /** Called once when the items are over, however that came. */
  ended(): void;
  /** What a failure of the call means. */
  failure(outcome: StatusObject): unknown;
}

interface Waiter {
  resolve(step: Step<StreamItem>): void;
  reject(error: unknown): void;
}

/** Items that may wait for their reader before no more are asked for. */
const highWater = 32;

// By hand and not as a generator over the call: that costs each event three times as much.

/** The items of one streaming call, which begins when the first is asked for. */
export class CallItems implements AsyncIterableIterator<StreamItem, undefined, undefined> {
  readonly #source: ItemSource;
  readonly #ready: StreamItem[] = [];
  readonly #waiters: Waiter[] = [];
  #call: OpenCall | undefined;
  #phase: "new" | "open" | "over" = "new";
  /** The reader is waited for. */
  #rests = false;
  /** Told once, behind the items that came before it. */
  #failure: { readonly error: unknown } | undefined;

  constructor(source: ItemSource) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Step<StreamItem>> {
    const item = this.#ready.shift();
    if (item !== undefined) {
      if (this.#rests && this.#ready.length === 0) this.#ask();
      return Promise.resolve({ done: false, value: item });
    }
    if (this.#phase === "over") return this.#end();
    if (this.#phase === "new") {
      this.#phase = "open";
      this.#begin().catch((error: unknown) => this.#fail(error));
    }
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Leaves the call, also while it is waited for. */
  return(): Promise<Step<StreamItem>> {
    this.#ready.length = 0;
    this.#finish();
    this.#failure = undefined;
    return Promise.resolve(over);
  }

  async #begin(): Promise<void> {
    const call = await this.#source.open({ onMessage: this.#take, onEnd: this.#ended });
    if (call === undefined) {
      this.#finish();
      return;
    }
    this.#call = call;
    if (this.#phase === "over") call.cancel();
    else this.#ask();
  }

  #ask(): void {
    this.#rests = false;
    this.#call?.read();
  }

  readonly #take = (message: Uint8Array): void => {
    if (this.#phase === "over") return;
    try {
      for (const item of this.#source.read(message)) {
        const waiter = this.#waiters.shift();
        if (waiter === undefined) this.#ready.push(item);
        else waiter.resolve({ done: false, value: item });
      }
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#source.isOver()) this.#finish();
    else if (this.#ready.length < highWater) this.#call?.read();
    else this.#rests = true;
  };

  readonly #ended = (failure: StatusObject | undefined): void => {
    if (failure === undefined) this.#finish();
    else this.#fail(this.#source.failure(failure));
  };

  #fail(error: unknown): void {
    if (this.#phase === "over") return;
    this.#failure = { error };
    this.#finish();
  }

  /** Takes nothing more and wakes the waiting reader. */
  #finish(): void {
    if (this.#phase === "over") return;
    this.#phase = "over";
    this.#source.ended();
    this.#call?.cancel();
    for (const { resolve, reject } of this.#waiters.splice(0)) this.#end().then(resolve, reject);
  }

  #end(): Promise<Step<StreamItem>> {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure === undefined ? Promise.resolve(over) : Promise.reject(failure.error);
  }
}
