import type { RequestHandler } from "../../../src/core/request-handler.js";
import type { SendMessageRequest } from "../../../src/protocol/model.js";
import { checkAnswer, meaningOf, positionOf, underId } from "./answers.js";
import type { Caller } from "./caller.js";
import { operationsOfNames, type SendOptions, sendContext, sendRequest } from "./calls.js";
import { Follower } from "./follower.js";
import type { Process } from "./process.js";
import type { World } from "./world.js";

export interface OnceSendOptions extends SendOptions {
  /** `taskId` is a name. */
  readonly named?: boolean | undefined;
}

/** An idempotent send: all of its tries must have the same outcome. */
export class OnceSend {
  readonly #world: World;
  readonly #caller: Caller;
  readonly #options: OnceSendOptions;
  readonly #request: SendMessageRequest;
  /** Outcome of the first answered try: the id of a task or of a message. */
  #answer: string | undefined;
  #replied = false;
  #tries = 0;
  #refusals = 0;

  constructor(world: World, caller: Caller, options: OnceSendOptions) {
    this.#world = world;
    this.#caller = caller;
    this.#options = options;
    this.#request = sendRequest(options);
  }

  send(): Promise<void> {
    const { messageId, immediately, named } = this.#options;
    const { journal } = this.#world;
    return this.#try("send", async (process) => {
      const answer = await this.#caller.host(process, (handler) =>
        operationsFor(handler, named).sendMessage(this.#request, sendContext({ once: true })),
      );
      const payload = named === true ? underId(journal, this.#request, answer) : answer.payload;
      if (payload.case === "message") return this.#noteAnswer(payload.value.messageId, true);
      if (payload.case !== "task") return journal.fail(`${messageId} was answered with nothing`);
      this.#noteAnswer(payload.value.id, false);
      const position = positionOf(journal, payload.value);
      if (immediately !== true) checkAnswer(journal, messageId, payload.value, position);
    });
  }

  stream(): Promise<void> {
    const { messageId, named, taskId } = this.#options;
    const { journal, weather } = this.#world;
    const name = named === true ? taskId : undefined;
    const follower = new Follower(journal, { messageId, name, snapshotsAgain: weather.shortLogs });
    return this.#try("stream", async (process) => {
      await this.#caller.follow(follower, process, (handler) =>
        operationsFor(handler, named).sendStreamingMessage(this.#request, sendContext({ once: true })),
      );
      // A caller shown a task that the message did not start may have left before its turn came.
      if (follower.lastId !== undefined && this.#options.taskId === undefined) this.#noteAnswer(follower.taskId, false);
    });
  }

  /** At the end: exactly one task took the message, or none did. */
  checkEnd(): void {
    const { messageId } = this.#options;
    const taskId = this.#world.journal.receipts.get(messageId)?.task;
    if (this.#replied && taskId !== undefined) this.#fail(`was replied to and taken by ${taskId}`);
    if (!this.#replied && this.#answer !== undefined && taskId !== this.#answer)
      this.#fail(`was answered by ${this.#answer} and taken by ${taskId}`);
    if (this.#refusals === this.#tries && taskId !== undefined)
      this.#fail(`was always refused, and taken by ${taskId}`);
  }

  async #try(how: string, run: (process: Process) => Promise<void>): Promise<void> {
    const { messageId, taskId } = this.#options;
    const answer = this.#answer;
    this.#tries += 1;
    const text = `${how} ${messageId} once to ${taskId ?? "a new task"}`;
    await this.#caller.call(text, undefined, async (process) => {
      try {
        await run(process);
      } catch (error) {
        if (meaningOf(error, this.#world.weather, process) === "refused") {
          this.#refusals += 1;
          if (answer !== undefined) this.#fail(`was answered by ${answer}, and then refused`);
        }
        throw error;
      }
    });
  }

  #noteAnswer(id: string, replied: boolean): void {
    if (!replied) {
      this.#world.learn(id);
      this.#world.journal.answers.add(id);
    }
    if (this.#answer !== undefined && this.#answer !== id) this.#fail(`was answered by ${this.#answer} and by ${id}`);
    this.#answer = id;
    this.#replied = replied;
  }

  #fail(text: string): void {
    this.#world.journal.fail(`${this.#options.messageId} ${text}`);
  }
}

function operationsFor(handler: RequestHandler, named = false): RequestHandler["operations"] {
  return named ? operationsOfNames(handler) : handler.operations;
}
