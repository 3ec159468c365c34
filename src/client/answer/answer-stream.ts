import { noop } from "../../protocol/async/noop.js";
import { createStepStream, endStep, leaveStream, type Step, type StepStream } from "../../protocol/async/steps.js";
import type { Message, Task } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { Answer } from "./answer.js";
import { type AnswerEvent, toAnswerEvent } from "./events.js";
import { AnswerFold } from "./fold.js";
import type { TextDeltas } from "./text-deltas.js";

/**
 * A streamed answer. Iterate over the stream for its events, or over `text` for its text; `answer` resolves with the
 * whole answer. The call is made on first use. A stream has one reader, of events or of text. Leaving the loop closes
 * it.
 *
 * @example
 * ```ts
 * const stream = client.stream("Write a report about tides");
 * for await (const piece of stream.text) process.stdout.write(piece);
 * const { state, files } = await stream.answer;
 * console.log(state, files.length);
 * ```
 */
export class AnswerStream implements AsyncIterable<AnswerEvent> {
  readonly #open: () => AsyncIterable<StreamItem>;
  readonly #maxBytes: number;
  readonly #known: Task | undefined;
  readonly #fold: AnswerFold;
  #source: AsyncIterator<StreamItem, unknown> | undefined;
  #hasReader = false;
  /** The reader waits for an event. */
  #isAsked = false;
  #isLeft = false;
  /** A step of reading for `answer`. Events that it reads before the reader asks for them wait in the queue. */
  #reading: Promise<void> | undefined;
  readonly #queue: AnswerEvent[] = [];
  /** An error that the reader has not got yet. */
  #failure: { readonly error: unknown } | undefined;
  /** Gives the answer or throws why there is none, once that is known. */
  #result: (() => Message | Task) | undefined;
  #answer: PromiseWithResolvers<Answer> | undefined;

  /**
   * `maxBytes`: how much content `answer`, and `text`, may keep. `known`: the task of the answer that is continued;
   * `text` leaves out the text that it has.
   */
  constructor(open: () => AsyncIterable<StreamItem>, maxBytes: number, known?: Task) {
    this.#open = open;
    this.#maxBytes = maxBytes;
    this.#known = known;
    this.#fold = new AnswerFold(maxBytes);
  }

  /**
   * The answer, once the stream has ended. Without a reader, it reads the stream itself; events that a reader has not
   * seen yet are kept for it. Rejects with the error of the stream, with an `AbortError` when the reader left before
   * the task had ended or waited for its caller, and with `contentTooLarge` over `limits.replyMaxBytes`. A rejection
   * that is not handled does not end the process.
   */
  get answer(): Promise<Answer> {
    if (this.#answer === undefined) {
      this.#answer = Promise.withResolvers();
      this.#answer.promise.catch(noop);
    }
    if (this.#result === undefined) queueMicrotask(this.#read);
    else this.#settle(this.#answer, this.#result);
    return this.#answer.promise;
  }

  /**
   * The text in pieces: that of the artifacts, separated by blank lines, else the final message. No text is yielded
   * twice, and the text of a continued answer is left out. When the agent replaces the text of an artifact, the new
   * text follows after a blank line. Throws a `TypeError` if the stream already has a reader.
   */
  get text(): AsyncIterable<string> {
    return {
      [Symbol.asyncIterator]: () => readText(this[Symbol.asyncIterator](), this.#maxBytes, this.#known),
    };
  }

  /** The events. Throws a `TypeError` when the stream has a reader. */
  [Symbol.asyncIterator](): StepStream<AnswerEvent> {
    if (this.#hasReader || this.#source !== undefined) {
      const reason = this.#hasReader ? "has a reader already" : "is being read for its answer";
      throw new TypeError(`the stream ${reason}: read its events or its text, once, before its answer`);
    }
    this.#hasReader = true;
    return createStepStream(this.#next, this.#leave);
  }

  readonly #next = (): Promise<Step<AnswerEvent>> => {
    const event = this.#queue.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#reading !== undefined) return this.#reading.then(this.#next);
    if (this.#failure !== undefined) {
      const { error } = this.#failure;
      this.#failure = undefined;
      return Promise.reject(error);
    }
    this.#isAsked = true;
    return this.#pull();
  };

  readonly #leave = async (): Promise<void> => {
    this.#isLeft = true;
    this.#queue.length = 0;
    this.#end(() => {
      if (this.#fold.isAnswered) return this.#fold.result();
      throw new DOMException("the stream was left before its answer", "AbortError");
    });
    await this.#source?.return?.();
  };

  #pull(): Promise<Step<AnswerEvent>> {
    this.#source ??= openSource(this.#open);
    return this.#source.next().then(this.#onItem, this.#onError);
  }

  readonly #onItem = (result: IteratorResult<StreamItem, unknown>): Step<AnswerEvent> | Promise<Step<AnswerEvent>> => {
    if (result.done === true) {
      this.#isAsked = false;
      this.#end(this.#foldResult);
      return endStep;
    }
    this.#fold.add(result.value.response);
    if (this.#fold.isFull) this.#end(this.#foldResult);
    const event = toAnswerEvent(result.value);
    if (event === undefined) return this.#pull();
    this.#isAsked = false;
    return { done: false, value: event };
  };

  readonly #onError = (error: unknown): never => {
    this.#isAsked = false;
    this.#end(() => {
      throw error;
    });
    throw error;
  };

  readonly #foldResult = (): Message | Task => this.#fold.result();

  /** Reads on for `answer`, as long as the reader does not. */
  readonly #read = (): void => {
    if (this.#reading !== undefined || this.#isAsked || this.#result !== undefined) return;
    this.#reading = this.#pull().then(
      (step) => {
        this.#reading = undefined;
        if (step.done !== true && this.#hasReader && !this.#isLeft) this.#queue.push(step.value);
        this.#readOn();
      },
      (error: unknown) => {
        this.#reading = undefined;
        this.#failure = { error };
      },
    );
  };

  #readOn(): void {
    // Nothing follows a message.
    if (this.#fold.isReply) this.#end(this.#foldResult);
    if (this.#result === undefined) this.#read();
    else if (!this.#hasReader) leaveStream(this.#source);
  }

  #end(result: () => Message | Task): void {
    if (this.#result !== undefined) return;
    this.#result = result;
    if (this.#answer !== undefined) this.#settle(this.#answer, result);
  }

  #settle({ resolve, reject }: PromiseWithResolvers<Answer>, result: () => Message | Task): void {
    try {
      resolve(new Answer(result()));
    } catch (error) {
      reject(error);
    }
  }
}

/** A stream that cannot be opened fails when it is read. */
function openSource(open: () => AsyncIterable<StreamItem>): AsyncIterator<StreamItem, unknown> {
  try {
    return open()[Symbol.asyncIterator]();
  } catch (error) {
    return { next: () => Promise.reject(error) };
  }
}

function readText(events: StepStream<AnswerEvent>, maxBytes: number, known: Task | undefined): StepStream<string> {
  let isOver = false;
  let deltas: TextDeltas | undefined;
  const next = async (): Promise<Step<string>> => {
    // Loaded with the first text that is read.
    deltas ??= new (await import("./text-deltas.js")).TextDeltas(maxBytes, known);
    while (!isOver) {
      const step = await events.next();
      isOver = step.done === true;
      const delta = step.done === true ? deltas.end() : deltas.read(step.value.response);
      if (delta !== "") return { done: false, value: delta };
    }
    return endStep;
  };
  return createStepStream(next, () => events.return());
}
