import type { RequestHandler } from "../../../src/core/request-handler.js";
import { createContext, type ServerContext } from "../../../src/protocol/context.js";
import { A2AError, type ErrorCode } from "../../../src/protocol/errors.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import type { ListTasksResponse, SendMessageRequest, Task } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { isTerminal } from "../../../src/protocol/states.js";
import { ExactSubscriber } from "../../support/exact-subscriber.js";
import { internals } from "../../support/fault-store.js";
import { requestOf, type SayOptions, say } from "../../support/say.js";
import { checkListed, positionOf } from "../simulator/answers.js";
import type { Process } from "../simulator/process.js";
import type { Stage } from "./stage.js";

type Operations = RequestHandler["operations"];

/** Errors that a correct caller may receive, because its first try took effect without an answer. */
const refusals: ReadonlySet<ErrorCode> = new Set(["unsupportedOperation", "taskNotCancelable"]);

export interface SendHow extends SayOptions {
  readonly immediately?: boolean;
  readonly once?: boolean;
}

/** How a call was answered. */
export type Answer<T> = { readonly value: T } | { readonly error: A2AError };

/** Calls the handlers of a stage as callers do, and checks each outcome. */
export class Caller {
  readonly #stage: Stage;
  /** A call refused as unavailable is retried and must then succeed: at most one store call fails. */
  readonly #secondTry: boolean;
  /** Messages whose send was answered with their task, or with a stream of it. */
  readonly acknowledged = new Map<string, string>();
  readonly subscribers: ExactSubscriber[] = [];
  #calls = 0;
  #messages = 0;

  constructor(stage: Stage, secondTry: boolean) {
    this.#stage = stage;
    this.#secondTry = secondTry;
  }

  /** One call, with a retry if the store made it fail. `undefined` if it failed. */
  async call<T>(
    what: string,
    process: Process,
    run: (operations: Operations, context: ServerContext) => Promise<T>,
    how: Partial<ServerContext> = {},
  ): Promise<T | undefined> {
    const first = await this.once(what, process, run, how);
    if ("value" in first) return first.value;
    if (first.error.code !== "unavailable") return undefined;
    await this.#stage.sleep(first.error.retryAfterMs ?? 0);
    const second = await this.once(`${what} again`, process, run, how);
    if ("value" in second) return second.value;
    if (this.#secondTry && second.error.code === "unavailable") this.#stage.fail(`${what} was refused twice`);
    return undefined;
  }

  async once<T>(
    what: string,
    process: Process,
    run: (operations: Operations, context: ServerContext) => Promise<T>,
    { signal: _, caller: __, ...how }: Partial<ServerContext> = {},
  ): Promise<Answer<T>> {
    const { open, signals } = this.#stage;
    const name = `${++this.#calls} ${what} at ${process.name}`;
    const defaults = { principal: { owner: "alice" }, binding: "JSONRPC", version: "1.0", extensions: [] } as const;
    const context = createContext({ ...defaults, after: undefined, ...how });
    signals.push(context.signal);
    open.add(name);
    try {
      const { handler } = process;
      if (handler === undefined) throw new TypeError("a process without a handler");
      return { value: await run(handler.operations, context) };
    } catch (error) {
      return { error: this.#judged(name, error) };
    } finally {
      open.delete(name);
    }
  }

  #judged(name: string, error: unknown): A2AError {
    if (!(error instanceof A2AError)) {
      this.#stage.fail(`${name} was answered with ${error instanceof Error ? error.stack : error}`);
      return new A2AError("internalError", "not an error of the protocol");
    }
    const { code, message, metadata, violations, retryAfterMs } = error;
    const text = JSON.stringify([message, metadata, violations]);
    if (text.includes(internals)) this.#stage.fail(`${name} was told ${text}`);
    const isExpected =
      refusals.has(code) || (code === "unavailable" && retryAfterMs !== undefined) || code === "deadlineExceeded";
    if (!isExpected)
      this.#stage.fail(`${name} was answered with ${code} (${retryAfterMs}): ${message}: ${error.cause}`);
    return error;
  }

  /** Sends a message and returns its task. Each try is a new message unless the send is idempotent. */
  async send(process: Process, text: string, how: SendHow = {}): Promise<Task | undefined> {
    const once = how.once === true ? this.#request(text, how) : undefined;
    const send = async (operations: Operations, context: ServerContext): Promise<Task | undefined> => {
      const request = once ?? this.#request(text, how);
      const { payload } = await operations.sendMessage(request, context);
      if (payload.case !== "task") return undefined;
      this.#noteTask(request, payload.value.id);
      return this.noteSeen(payload.value);
    };
    return this.call(`send ${text}`, process, send, onceContext(how));
  }

  #request(text: string, { immediately, once: _, ...ids }: SendHow): SendMessageRequest {
    const configuration = { returnImmediately: immediately === true, ...ids.configuration };
    return say(text, { messageId: `m${++this.#messages}`, ...ids, configuration });
  }

  #noteTask({ message }: SendMessageRequest, taskId: string): void {
    if (message !== undefined) this.acknowledged.set(message.messageId, taskId);
  }

  get(process: Process, id: string): Promise<Task | undefined> {
    const get = (operations: Operations, context: ServerContext) =>
      operations.getTask(requestOf("getTask", { id }), context).then((task) => this.noteSeen(task));
    return this.call(`get ${id}`, process, get);
  }

  cancel(process: Process, id: string): Promise<Task | undefined> {
    const cancel = (operations: Operations, context: ServerContext) =>
      operations.cancelTask(requestOf("cancelTask", { id }), context).then((task) => this.noteSeen(task));
    return this.call(`cancel ${id}`, process, cancel);
  }

  /** Reads the whole list, page by page. */
  async list(process: Process): Promise<readonly Task[]> {
    const tasks: Task[] = [];
    let pageToken = "";
    do {
      const request = requestOf("listTasks", { pageSize: 1, pageToken, includeArtifacts: true });
      const list = (operations: Operations, context: ServerContext): Promise<ListTasksResponse> =>
        operations.listTasks(request, context);
      const page = await this.call("list", process, list);
      for (const task of page?.tasks ?? []) checkListed(this.#stage.journal, task);
      tasks.push(...(page?.tasks ?? []));
      pageToken = page?.nextPageToken ?? "";
    } while (pageToken !== "");
    return tasks;
  }

  /** Streams a send, and leaves it after `most` items. */
  async stream(
    process: Process,
    text: string,
    how: SendHow & { readonly most?: number } = {},
  ): Promise<ExactSubscriber> {
    const { most, ...rest } = how;
    const once = how.once === true ? this.#request(text, rest) : undefined;
    const subscriber = this.#subscriber();
    const send = async (operations: Operations, context: ServerContext): Promise<void> => {
      const request = once ?? this.#request(text, rest);
      const { messageId = "" } = request.message ?? {};
      const resumed = this.#after(context, subscriber);
      const stream = operations.sendStreamingMessage(request, resumed);
      await subscriber.read(this.#noteStream(messageId, stream, rest.taskId), most);
    };
    await this.call(`stream ${text}`, process, send, onceContext(how));
    return subscriber;
  }

  // The first item of a new task's stream acknowledges its message.
  async *#noteStream(messageId: string, stream: AsyncIterable<StreamItem>, taskId: string | undefined) {
    for await (const item of stream) {
      const { payload } = item.response;
      if (payload.case === "task" && taskId === undefined) this.acknowledged.set(messageId, payload.value.id);
      yield item;
    }
  }

  // A caller that was shown an event resumes after it.
  #after(context: ServerContext, { lastId }: ExactSubscriber): ServerContext {
    if (lastId === undefined) return context;
    const { principal, binding, version, extensions } = context;
    const resumed = createContext({ principal, binding, version, extensions, after: lastId });
    this.#stage.signals.push(resumed.signal);
    return resumed;
  }

  #subscriber(): ExactSubscriber {
    const subscriber = new ExactSubscriber();
    this.subscribers.push(subscriber);
    return subscriber;
  }

  /** Subscribes, or resumes after the last event seen, until the task ends or this many items were read. */
  async subscribe(
    process: Process,
    id: string,
    { by = this.#subscriber(), most }: { readonly by?: ExactSubscriber; readonly most?: number } = {},
  ): Promise<ExactSubscriber> {
    const subscribe = async (operations: Operations, context: ServerContext): Promise<void> => {
      const resumed = this.#after(context, by);
      await by.read(operations.subscribeToTask(requestOf("subscribeToTask", { id }), resumed), most);
    };
    await this.call(`subscribe ${id}`, process, subscribe);
    return by;
  }

  /** Checks that a task shown to a caller existed in that form. */
  noteSeen(task: Task): Task {
    positionOf(this.#stage.journal, task);
    return task;
  }

  /** Waits until a task has ended by polling it. */
  async noteEnd(process: Process, id: string): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      const task = await this.get(process, id);
      if (task !== undefined && isTerminal(task.status?.state ?? 0)) return;
      await this.#stage.sleep(500);
    }
    this.#stage.fail(`${id} did not come to its end`);
  }
}

function onceContext({ once }: SendHow): Partial<ServerContext> {
  return once === true ? { extensions: [idempotentSendExtension] } : {};
}
