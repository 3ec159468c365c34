import type { RequestHandler } from "../../../src/core/request-handler.js";
import { A2AError } from "../../../src/protocol/errors.js";
import type { Task } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { isStop, isTerminal } from "../../../src/protocol/states.js";
import { callContext, cancelRequest, getRequest, listRequest, sendRequest, subscribeRequest } from "./calls.js";
import { digestOf, shortDigestOf } from "./digest.js";
import { StoreDown } from "./faulty-store.js";
import { Follower } from "./follower.js";
import { ConnectionLost, type Process } from "./process.js";
import type { Random } from "./random.js";
import { refusal } from "./script.js";
import { isFair } from "./weather.js";
import type { World } from "./world.js";

/** Errors that say that a message was not taken, and will not be. */
const refusals: ReadonlySet<string> = new Set(["unsupportedOperation", "resourceExhausted", "taskNotCancelable"]);

/** Why a caller did not wait for its answer. */
class Gone extends Error {}

type Operations = RequestHandler["operations"];

/** Somebody who calls the agent, now in one process and now in another, and holds what comes back against the log. */
export class Client {
  readonly #world: World;
  readonly #name: string;
  readonly #random: Random;
  #calls = 0;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#name = name;
    this.#random = world.random.fork();
  }

  /** Calls until the world grows calm. */
  async live(): Promise<void> {
    while (!this.#world.calm) {
      await this.#world.sleep(this.#random.pick(paces[this.#world.weather.pace]));
      const act = this.#random.pick(acts);
      const acted = act(this, this.#random);
      // Several at once, as they come from people who click twice.
      while (this.#random.chance(0.15)) void act(this, this.#random);
      // Some do not wait for one answer before they ask for the next.
      if (this.#random.chance(0.6)) await acted;
    }
  }

  async send(taskId: string | undefined): Promise<void> {
    const messageId = this.#message();
    const immediately = this.#random.chance(0.3);
    const historyLength = this.#random.chance(0.2) ? 0 : undefined;
    const request = sendRequest({ messageId, script: this.#script(), taskId, immediately, historyLength });
    const context = callContext();
    if (this.#random.chance(0.05))
      this.#world.time.after(this.#random.int(1, 900), () => context.leave(new Gone("the caller has gone")));
    await this.#call(`send ${messageId} to ${taskId ?? "a new task"}`, messageId, async (process) => {
      const { payload } = await this.#answer(process, ({ sendMessage }) => sendMessage(request, context));
      if (payload.case !== "task") return this.#outcome(messageId, "replied");
      this.#outcome(messageId, "answered");
      this.#known(payload.value);
      const from = this.#seen(payload.value, historyLength === 0);
      if (!immediately) this.#checkAnswer(messageId, payload.value, from);
    });
  }

  async stream(taskId: string | undefined): Promise<void> {
    const messageId = this.#message();
    const withoutHistory = this.#random.chance(0.2);
    const historyLength = withoutHistory ? 0 : undefined;
    const request = sendRequest({ messageId, script: this.#script(), taskId, historyLength });
    const follower = new Follower(this.#world.journal, {
      messageId,
      withoutHistory,
      snapshotsAgain: this.#world.weather.shortLogs,
    });
    await this.#call(`stream ${messageId} to ${taskId ?? "a new task"}`, messageId, (process) =>
      this.#follow(follower, process, ({ sendStreamingMessage }) => sendStreamingMessage(request, callContext())),
    );
    if (follower.lastId !== undefined) this.#outcome(messageId, taskId === undefined ? "answered" : "unknown");
    if (follower.replied) this.#outcome(messageId, "replied");
    await this.#comeBack(follower);
  }

  async subscribe(taskId: string): Promise<void> {
    const follower = new Follower(this.#world.journal, { snapshotsAgain: this.#world.weather.shortLogs });
    await this.#call(`subscribe to ${taskId}`, undefined, (process) =>
      this.#follow(follower, process, ({ subscribeToTask }) =>
        subscribeToTask(subscribeRequest(taskId), callContext()),
      ),
    );
    await this.#comeBack(follower);
  }

  async cancel(taskId: string): Promise<void> {
    const { recovered, journal, weather } = this.#world;
    await this.#call(`cancel ${taskId}`, undefined, async (process) => {
      const task = await this.#answer(process, ({ cancelTask }) => cancelTask(cancelRequest(taskId), callContext()));
      this.#seen(task, false);
      const prompt = recovered || (isFair(weather) && weather.slowMs <= 30 && !process.leaving);
      if (prompt && !isTerminal(task.status?.state ?? 0)) journal.fail(`${taskId} was canceled and is not`);
    });
  }

  async get(taskId: string): Promise<void> {
    await this.#call(`get ${taskId}`, undefined, async (process) => {
      this.#seen(await this.#answer(process, ({ getTask }) => getTask(getRequest(taskId), callContext())), false);
    });
  }

  async list(): Promise<void> {
    await this.#call("list", undefined, async (process) => {
      const page = await this.#answer(process, ({ listTasks }) => listTasks(listRequest(), callContext()));
      for (const task of page.tasks) this.#known(task);
    });
  }

  // Whoever left, or was left, goes on behind the last event, mostly somewhere else, until the stream ends by itself.
  async #comeBack(follower: Follower): Promise<void> {
    for (let times = 0; !follower.replied && follower.lastId !== undefined && times < 4; times++) {
      if (this.#random.chance(0.4)) return;
      const after = follower.lastId;
      const attaches = this.#random.chance(0.4);
      follower.again(attaches ? "attached" : "subscription");
      const request = sendRequest({ messageId: `again-${this.#message()}`, script: 0 });
      await this.#call(`${attaches ? "attach" : "resume"} after ${after}`, undefined, (process) =>
        this.#follow(follower, process, ({ sendStreamingMessage, subscribeToTask }) =>
          attaches
            ? sendStreamingMessage(request, callContext(after))
            : subscribeToTask(subscribeRequest(follower.taskId), callContext(after)),
        ),
      );
    }
  }

  async #follow(
    follower: Follower,
    process: Process,
    open: (operations: Operations) => AsyncIterable<StreamItem>,
  ): Promise<void> {
    await Promise.race([process.whenUp(), process.died]);
    const iterator = open(operationsOf(process))[Symbol.asyncIterator]();
    const patience = this.#random.chance(0.4) ? this.#random.int(0, 8) : Number.POSITIVE_INFINITY;
    const slowness = this.#random.pick([0, 0, 0.1, 0.8]);
    for (let items = 0; items < patience; items++) {
      const step = await this.#through(process, iterator.next());
      if (step.done === true) return process.leaving ? undefined : follower.ended();
      follower.see(step.value);
      if (follower.taskId !== "") this.#knownId(follower.taskId);
      if (!this.#world.calm && this.#random.chance(slowness)) await this.#world.sleep(this.#random.int(0, 600));
    }
    await this.#through(process, Promise.resolve(iterator.return?.()));
  }

  #answer<T>(process: Process, ask: (operations: Operations) => Promise<T>): Promise<T> {
    return this.#through(
      process,
      Promise.resolve(process.whenUp()).then(() => ask(operationsOf(process))),
    );
  }

  // An answer of a process that stands still comes when it goes on, one of a dead process never.
  async #through<T>(process: Process, answer: Promise<T>): Promise<T> {
    process.waiting += 1;
    try {
      return await Promise.race([answer, process.died]);
    } finally {
      process.waiting -= 1;
      await Promise.race([process.whenUp(), process.died]);
    }
  }

  async #call(what: string, messageId: string | undefined, run: (process: Process) => Promise<void>): Promise<void> {
    const { open, trace } = this.#world;
    const process = this.#world.anyProcess(this.#random);
    const name = `${this.#name}.${++this.#calls} ${what} at ${process.name}`;
    open.add(name);
    if (messageId !== undefined) this.#outcome(messageId, "open");
    trace.call(this.#world, () => name);
    try {
      await run(process);
      trace.call(this.#world, () => `${name}: done`);
    } catch (error) {
      trace.call(this.#world, () => `${name}: ${error}`);
      this.#judge(name, messageId, error, process);
    }
    open.delete(name);
  }

  #judge(name: string, messageId: string | undefined, error: unknown, process: Process): void {
    const { journal, weather } = this.#world;
    const refused = error instanceof A2AError && refusals.has(error.code);
    const agents = error instanceof A2AError && error.message === refusal;
    if (messageId !== undefined) this.#outcome(messageId, refused ? "refused" : "unknown");
    if (refused || agents || error instanceof Gone) return;
    const late = error instanceof ConnectionLost || (error instanceof A2AError && error.code === "unavailable");
    if (late && process.leaving) return;
    const excused = error instanceof StoreDown || error instanceof ConnectionLost;
    if (excused && !isFair(weather)) return;
    journal.fail(`${name}: ${error instanceof Error ? error.stack : error}`);
  }

  // An answer stands at the first stop behind its message, or behind that.
  #checkAnswer(messageId: string, task: Task, from: number): void {
    const { journal } = this.#world;
    const taken = journal.taken.get(messageId);
    if (taken === undefined || taken.task !== task.id)
      return journal.fail(`${messageId} was answered and not taken by ${task.id}`);
    const { records, states } = journal.tasks.get(task.id) ?? { records: [], states: [] };
    const stop = records.findIndex(
      (record, index) =>
        index >= taken.seq &&
        (record.kind === "turnEnded" || (record.kind === "event" && isStop(states[index + 1] ?? 0))),
    );
    if (stop < 0 || from < stop) journal.fail(`${messageId} was answered at ${from}, before its stop at ${stop + 1}`);
  }

  // Where in its log a task was that somebody got: the last such place.
  #seen(task: Task, withoutHistory: boolean): number {
    const { journal } = this.#world;
    const digests = journal.tasks.get(task.id)?.digests ?? [];
    const digest = withoutHistory ? shortDigestOf(task) : digestOf(task);
    const seq = withoutHistory
      ? digests.findLastIndex((each) => digestMatchesShort(each, digest))
      : digests.lastIndexOf(digest);
    if (seq < 1) journal.fail(`${task.id} was shown as it never was: ${digest}`);
    return seq;
  }

  #known({ id }: Task): void {
    this.#knownId(id);
  }

  #knownId(id: string): void {
    if (!this.#world.known.includes(id)) this.#world.known.push(id);
  }

  #message(): string {
    return this.#world.newId("m");
  }

  #script(): number {
    return this.#random.int(0, 2 ** 30);
  }

  #outcome(messageId: string, outcome: "open" | "answered" | "replied" | "refused" | "unknown"): void {
    this.#world.sends.set(messageId, outcome);
  }

  /** One of the tasks that are known, mostly a young one. */
  aTask(): string | undefined {
    const { known } = this.#world;
    return this.#random.chance(this.#world.weather.focus)
      ? known.at(-1)
      : known[this.#random.int(0, Math.max(known.length - 1, 0))];
  }
}

function operationsOf({ handler }: Process): Operations {
  if (handler === undefined) throw new TypeError("a process without a handler");
  return handler.operations;
}

/** How long they think between two calls. */
const paces = {
  calm: [0, 10, 300, 2000],
  hasty: [0, 1, 2, 30, 500],
} as const;

type Act = (client: Client, random: Random) => Promise<void>;

const withTask =
  (act: (client: Client, taskId: string) => Promise<void>): Act =>
  async (client) => {
    const taskId = client.aTask();
    if (taskId !== undefined) await act(client, taskId);
  };

const acts: readonly [Act, ...Act[]] = [
  (client) => client.send(undefined),
  (client) => client.stream(undefined),
  (client) => client.stream(undefined),
  withTask((client, id) => client.send(id)),
  withTask((client, id) => client.send(id)),
  withTask((client, id) => client.stream(id)),
  withTask((client, id) => client.stream(id)),
  withTask((client, id) => client.subscribe(id)),
  withTask((client, id) => client.subscribe(id)),
  withTask((client, id) => client.get(id)),
  withTask((client, id) => client.cancel(id)),
  (client) => client.list(),
];
