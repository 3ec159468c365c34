import type { StreamItem } from "../../protocol/operations.js";
import { isLastEvent } from "./finals.js";

type Step = IteratorResult<StreamItem, undefined>;

/**
 * The stream of a message to a task that is there already. Its last status is told when the stream has ended behind it:
 * clients up to 0.3 read nothing that comes later, and would not hear that the task has ended without taking their message.
 * By hand, so that it can be left while it waits.
 */
export class WholeTurn implements AsyncIterableIterator<StreamItem, undefined> {
  readonly #items: AsyncIterator<StreamItem>;
  #ahead: Step | undefined;

  constructor(items: AsyncIterable<StreamItem>) {
    this.#items = items[Symbol.asyncIterator]();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const step = ahead ?? ((await this.#items.next()) as Step);
    if (step.done !== true && isLastEvent(step.value.response)) this.#ahead = (await this.#items.next()) as Step;
    return step;
  }

  async return(): Promise<Step> {
    this.#ahead = undefined;
    await this.#items.return?.();
    return { done: true, value: undefined };
  }
}
