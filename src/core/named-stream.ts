import { A2AError } from "../protocol/errors.js";
import type { StreamItem } from "../protocol/operations.js";
import { responseUnderName } from "../protocol/under-name.js";
import { NameTaken } from "./store-failure.js";

type Step = IteratorResult<StreamItem, undefined>;

const over: Step = { done: true, value: undefined };

/**
 * The stream of a task whose caller knows it by a name. It is opened when it is first read, and again, before its first
 * item, when the name was given to another task meanwhile.
 */
export class NamedStream implements AsyncIterableIterator<StreamItem> {
  readonly #name: string;
  readonly #open: () => Promise<AsyncIterable<StreamItem>>;
  #tries: number;
  #source: AsyncIterator<StreamItem> | undefined;
  #ended = false;

  /** `tries`: how often it is opened at most. */
  constructor(name: string, open: () => Promise<AsyncIterable<StreamItem>>, tries: number) {
    this.#name = name;
    this.#open = open;
    this.#tries = tries;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    const step: Step = this.#ended ? over : await this.#step();
    if (step.done !== true) return { done: false, value: itemUnderName(step.value, this.#name) };
    this.#ended = true;
    return over;
  }

  async return(): Promise<Step> {
    this.#ended = true;
    await this.#source?.return?.();
    return over;
  }

  async #step(): Promise<Step> {
    try {
      this.#source ??= await this.#opened();
      const step = this.#source.next();
      // Left while it was being opened: its message is sent all the same, as that of any other stream.
      if (this.#ended) await this.#source.return?.();
      return await step;
    } catch (error) {
      this.#source = undefined;
      if (error instanceof NameTaken && this.#tries > 0) return this.#step();
      this.#ended = true;
      throw errorUnderName(error, this.#name);
    }
  }

  async #opened(): Promise<AsyncIterator<StreamItem>> {
    this.#tries -= 1;
    return (await this.#open())[Symbol.asyncIterator]();
  }
}

const slot = Symbol("under a name");

// Kept on the item, which all readers that keep up share, so that what a version makes of it is made once. A task has one
// name, but its callers may use its id as well.
function itemUnderName(item: StreamItem, name: string): StreamItem {
  const kept: StreamItem & { [slot]?: { readonly name: string; readonly item: StreamItem } } = item;
  if (kept[slot]?.name === name) return kept[slot].item;
  // Not a spread: what else is kept on the item was made of it as it is.
  const named = { response: responseUnderName(item.response, name), id: item.id };
  kept[slot] = { name, item: named };
  return named;
}

/** An error as it is told to a caller that knows the task of its call by a name. */
export function errorUnderName(error: unknown, name: string): unknown {
  if (!(error instanceof A2AError) || error.metadata["taskId"] === undefined) return error;
  const { code, message, cause, violations, metadata, retryAfterMs, challenge } = error;
  return new A2AError(code, message, {
    cause,
    violations,
    metadata: { ...metadata, taskId: name },
    retryAfterMs,
    challenge,
  });
}
