import type { ReplaceableHandler, RequestHandler } from "../../../src/core/request-handler.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { meaningOf } from "./answers.js";
import type { Follower } from "./follower.js";
import type { Process } from "./process.js";
import type { Random } from "./random.js";
import type { World } from "./world.js";

type Operations = RequestHandler["operations"];

/** Makes calls to any process, which may stall or die meanwhile, and judges how they fail. */
export class Caller {
  readonly #world: World;
  readonly #name: string;
  readonly #random: Random;
  #calls = 0;

  constructor(world: World, name: string, random: Random) {
    this.#world = world;
    this.#name = name;
    this.#random = random;
  }

  /** One call to some process. `messageId`: id of the message it sends. */
  async call(what: string, messageId: string | undefined, run: (process: Process) => Promise<void>): Promise<void> {
    const { open, sends, journal, weather } = this.#world;
    const process = this.#world.anyProcess(this.#random);
    const name = `${this.#name}.${++this.#calls} ${what} at ${process.name}`;
    open.add(name);
    if (messageId !== undefined) sends.set(messageId, "open");
    this.#world.trace(() => name);
    try {
      await run(process);
      this.#world.trace(() => `${name}: done`);
    } catch (error) {
      this.#world.trace(() => `${name}: ${error}`);
      const meaning = meaningOf(error, weather, process);
      if (meaning === undefined) journal.fail(`${name}: ${error instanceof Error ? error.stack : error}`);
      if (messageId !== undefined) sends.set(messageId, meaning ?? "unknown");
    }
    open.delete(name);
  }

  answer<T>(process: Process, ask: (operations: Operations) => Promise<T>): Promise<T> {
    return this.host(process, ({ operations }) => ask(operations));
  }

  /** Calls of the program that hosts the agent. */
  host<T>(process: Process, ask: (handler: ReplaceableHandler) => Promise<T>): Promise<T> {
    const answer = Promise.resolve(process.whenUp()).then(() => ask(handlerOf(process)));
    return this.#through(process, answer);
  }

  /** Reads a stream, fast or slowly, to its end or for a while. */
  async follow(
    follower: Follower,
    process: Process,
    open: (handler: RequestHandler) => AsyncIterable<StreamItem>,
  ): Promise<void> {
    const random = this.#random;
    await Promise.race([process.whenUp(), process.died]);
    const iterator = open(handlerOf(process))[Symbol.asyncIterator]();
    const patience = random.chance(0.4) ? random.int(0, 8) : Number.POSITIVE_INFINITY;
    const slowness = random.pick([0, 0, 0.1, 0.8]);
    for (let items = 0; items < patience; items++) {
      const step = await this.#through(process, iterator.next());
      if (step.done === true) return process.leaving ? undefined : follower.ended();
      follower.see(step.value);
      if (follower.taskId !== "") this.#world.learn(follower.taskId);
      if (!this.#world.calm && random.chance(slowness)) await this.#world.sleep(random.int(0, 600));
    }
    await this.#through(process, Promise.resolve(iterator.return?.()));
  }

  // A stalled process answers when it continues; a dead one never does.
  async #through<T>(process: Process, answer: Promise<T>): Promise<T> {
    process.waiting += 1;
    try {
      return await Promise.race([answer, process.died]);
    } finally {
      process.waiting -= 1;
      await Promise.race([process.whenUp(), process.died]);
    }
  }
}

function handlerOf({ handler }: Process): ReplaceableHandler {
  if (handler === undefined) throw new TypeError("a process without a handler");
  return handler;
}
