import { isTerminal } from "../../../src/protocol/states.js";
import { checkAnswer, checkListed, Gone, positionOf, underId } from "./answers.js";
import { Caller } from "./caller.js";
import {
  callContext,
  cancelRequest,
  getRequest,
  listRequest,
  operationsOfNames,
  sendContext,
  sendRequest,
  subscribeRequest,
} from "./calls.js";
import { Follower } from "./follower.js";
import { OnceSend } from "./once-send.js";
import type { Random } from "./random.js";
import { isPrompt } from "./weather.js";
import type { World } from "./world.js";

/** A client that calls the agent in any process and compares everything it receives with the log. */
export class Client {
  readonly #world: World;
  readonly #random: Random;
  readonly #caller: Caller;

  constructor(world: World, name: string) {
    this.#world = world;
    this.#random = world.random.fork();
    this.#caller = new Caller(world, name, this.#random);
  }

  /** Calls until the world becomes calm. */
  async live(): Promise<void> {
    while (!this.#world.calm) {
      await this.#world.sleep(this.#random.pick(paces[this.#world.weather.pace]));
      const act = this.#random.pick(acts);
      const acted = act(this);
      // Several at once, like a user who clicks twice.
      while (this.#random.chance(0.15)) void act(this);
      // Some calls start before the previous one is answered.
      if (this.#random.chance(0.6)) await acted;
    }
  }

  async send(taskId: string | undefined): Promise<void> {
    const { journal, sends } = this.#world;
    const messageId = this.#world.newId("m");
    const immediately = this.#random.chance(0.3);
    const historyLength = this.#random.chance(0.2) ? 0 : undefined;
    const request = sendRequest({ messageId, script: this.#script(), taskId, immediately, historyLength });
    const context = callContext();
    const leave = (): void => context.leave(new Gone("the caller has gone"));
    if (this.#random.chance(0.05)) this.#world.time.after(this.#random.int(1, 900), leave);
    await this.#caller.call(`send ${messageId} to ${taskId ?? "a new task"}`, messageId, async (process) => {
      const { payload } = await this.#caller.answer(process, ({ sendMessage }) => sendMessage(request, context));
      sends.set(messageId, payload.case === "task" ? "answered" : "replied");
      if (payload.case !== "task") return;
      this.#world.learn(payload.value.id);
      journal.answers.add(payload.value.id);
      const position = positionOf(journal, payload.value, historyLength === 0);
      if (!immediately) checkAnswer(journal, messageId, payload.value, position);
    });
  }

  async stream(taskId: string | undefined): Promise<void> {
    const { journal, sends, weather } = this.#world;
    const messageId = this.#world.newId("m");
    const withoutHistory = this.#random.chance(0.2);
    const historyLength = withoutHistory ? 0 : undefined;
    const request = sendRequest({ messageId, script: this.#script(), taskId, historyLength });
    const follower = new Follower(journal, { messageId, withoutHistory, snapshotsAgain: weather.shortLogs });
    await this.#caller.call(`stream ${messageId} to ${taskId ?? "a new task"}`, messageId, (process) =>
      this.#caller.follow(follower, process, ({ operations }) =>
        operations.sendStreamingMessage(request, callContext()),
      ),
    );
    if (sends.get(messageId) === "open") {
      // A caller that was shown its own new task was accepted. One that waited for its turn on an existing task may
      // have left before it came.
      const accepted = follower.lastId !== undefined && taskId === undefined;
      sends.set(messageId, follower.replied ? "replied" : accepted ? "answered" : "unknown");
    }
    await this.#comeBack(follower);
  }

  /** Tries an idempotent send several times: in sequence or at once, in any process, unary or as a stream. */
  async sendOnce(taskId: string | undefined, named = false): Promise<void> {
    const once = new OnceSend(this.#world, this.#caller, {
      messageId: this.#world.newId("m"),
      script: this.#script(),
      taskId,
      named,
      immediately: this.#random.chance(0.2),
    });
    this.#world.onceSends.push(once);
    const tries: Promise<void>[] = [];
    for (let rest = this.#random.int(1, 4); rest > 0; rest--) {
      const attempt = this.#random.chance(0.5) ? once.send() : once.stream();
      tries.push(attempt);
      if (this.#random.chance(0.6)) await attempt;
      else await this.#world.sleep(this.#random.pick([0, 1, 50, 2000]));
    }
    await Promise.all(tries);
  }

  /** A send to a task known by a name, which another client may be giving to a new task at the same time. */
  async sendNamed(name: string): Promise<void> {
    const { journal, sends } = this.#world;
    const messageId = this.#world.newId("m");
    const request = sendRequest({ messageId, script: this.#script(), taskId: name });
    const context = sendContext({});
    await this.#caller.call(`send ${messageId} to ${name}`, messageId, async (process) => {
      const answer = await this.#caller.host(process, (handler) =>
        operationsOfNames(handler).sendMessage(request, context),
      );
      sends.set(messageId, "answered");
      const payload = underId(journal, request, answer);
      if (payload.case !== "task") return;
      this.#world.learn(payload.value.id);
      checkAnswer(journal, messageId, payload.value, positionOf(journal, payload.value));
    });
  }

  /** A name shared with other clients until its task has ended. */
  aName(): string {
    const { journal } = this.#world;
    const isOver = (name: string): boolean => {
      const states = journal.tasks.get(journal.named.get(name) ?? "")?.states;
      return isTerminal(states?.at(-1) ?? 0);
    };
    for (let index = 1; ; index++) {
      const name = `name-${index}`;
      if (!isOver(name) || this.#random.chance(0.1)) return name;
    }
  }

  async subscribe(taskId: string): Promise<void> {
    const follower = new Follower(this.#world.journal, { snapshotsAgain: this.#world.weather.shortLogs });
    await this.#caller.call(`subscribe to ${taskId}`, undefined, (process) =>
      this.#caller.follow(follower, process, ({ operations }) =>
        operations.subscribeToTask(subscribeRequest(taskId), callContext()),
      ),
    );
    await this.#comeBack(follower);
  }

  async cancel(taskId: string): Promise<void> {
    const { recovered, journal, weather } = this.#world;
    await this.#caller.call(`cancel ${taskId}`, undefined, async (process) => {
      const request = cancelRequest(taskId);
      const task = await this.#caller.answer(process, ({ cancelTask }) => cancelTask(request, callContext()));
      positionOf(journal, task);
      const prompt = recovered || (isPrompt(weather) && !process.leaving);
      if (prompt && !isTerminal(task.status?.state ?? 0)) journal.fail(`${taskId} was canceled and is not`);
    });
  }

  /** The hosting program wakes a task in any process. */
  async wake(taskId: string): Promise<void> {
    const { journal } = this.#world;
    const data = this.#world.newId("w");
    await this.#caller.call(`wake ${taskId} with ${data}`, undefined, async (process) => {
      const result = await this.#caller.host(process, (handler) => handler.wake(scope, taskId, data));
      if (!result && !isTerminal(journal.tasks.get(taskId)?.states.at(-1) ?? 0))
        journal.fail(`${taskId} was not woken, and goes on`);
      if (!result && journal.wakes.has(data)) journal.fail(`${taskId} was woken with ${data}, and was not`);
    });
  }

  async get(taskId: string): Promise<void> {
    const { journal } = this.#world;
    await this.#caller.call(`get ${taskId}`, undefined, async (process) => {
      const shown = journal.shown(taskId);
      const task = await this.#caller.answer(process, ({ getTask }) => getTask(getRequest(taskId), callContext()));
      const position = positionOf(journal, task);
      if (position < shown) journal.fail(`${taskId} was shown as of ${position}, after ${shown} was shown elsewhere`);
    });
  }

  async list(): Promise<void> {
    await this.#caller.call("list", undefined, async (process) => {
      const { tasks } = await this.#caller.answer(process, ({ listTasks }) => listTasks(listRequest(), callContext()));
      for (const task of tasks) checkListed(this.#world.journal, task);
      for (const { id } of tasks) this.#world.learn(id);
    });
  }

  /** One of the known tasks, preferably a young one. */
  aTask(): string | undefined {
    const { knownIds, weather } = this.#world;
    if (this.#random.chance(weather.focus)) return knownIds.at(-1);
    return knownIds[this.#random.int(0, Math.max(knownIds.length - 1, 0))];
  }

  // After leaving a stream, or losing it, it resumes after the last event, mostly in another process, until the stream
  // ends by itself.
  async #comeBack(follower: Follower): Promise<void> {
    for (let times = 0; !follower.replied && follower.lastId !== undefined && times < 4; times++) {
      if (this.#random.chance(0.4)) return;
      const after = follower.lastId;
      const attaches = this.#random.chance(0.4);
      follower.again(attaches ? "attached" : "subscription");
      const request = sendRequest({ messageId: `again-${this.#world.newId("m")}`, script: 0 });
      await this.#caller.call(`${attaches ? "attach" : "resume"} after ${after}`, undefined, (process) =>
        this.#caller.follow(follower, process, ({ operations: { sendStreamingMessage, subscribeToTask } }) =>
          attaches
            ? sendStreamingMessage(request, callContext(after))
            : subscribeToTask(subscribeRequest(follower.taskId), callContext(after)),
        ),
      );
    }
  }

  #script(): number {
    return this.#random.int(0, 2 ** 30);
  }
}

const scope = { agent: "", tenant: "", owner: "alice" };

/** Pauses between two calls. */
const paces = {
  calm: [0, 10, 300, 2000],
  hasty: [0, 1, 2, 30, 500],
} as const;

type Act = (client: Client) => Promise<void>;

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
  (client) => client.sendOnce(undefined),
  (client) => client.sendOnce(undefined),
  withTask((client, id) => client.sendOnce(id)),
  withTask((client, id) => client.sendOnce(id)),
  withTask((client, id) => client.send(id)),
  withTask((client, id) => client.send(id)),
  withTask((client, id) => client.stream(id)),
  withTask((client, id) => client.stream(id)),
  (client) => client.sendNamed(client.aName()),
  (client) => client.sendNamed(client.aName()),
  (client) => client.sendOnce(client.aName(), true),
  (client) => client.sendOnce(client.aName(), true),
  withTask((client, id) => client.subscribe(id)),
  withTask((client, id) => client.subscribe(id)),
  withTask((client, id) => client.wake(id)),
  withTask((client, id) => client.wake(id)),
  withTask((client, id) => client.get(id)),
  withTask((client, id) => client.cancel(id)),
  (client) => client.list(),
];
