import { create } from "@bufbuild/protobuf";
import type { Client } from "../../../src/client/node.js";
import type { ClientOptions } from "../../../src/client/options.js";
import type { Clock } from "../../../src/protocol/async/clock.js";
import { A2AError, taskNotFound } from "../../../src/protocol/errors.js";
import { applyEvent, copyTask, emptyTask } from "../../../src/protocol/fold.js";
import {
  type AgentCard,
  AgentCardSchema,
  type Message,
  type StreamResponse,
  type Task,
  TaskState,
} from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { isTerminal } from "../../../src/protocol/states.js";
import { patientClients } from "../../support/clients.js";
import { serviceOf } from "../../support/echo-service.js";
import { type HttpAgent, httpAgent } from "../../support/http-agent.js";
import { taskEvent } from "./resuming-events.js";

// A foreign agent: its events have no ids or meaningless ones, and its subscriptions vary.

export const jsonBindings = ["JSONRPC", "HTTP+JSON"] as const;
export type JsonBinding = (typeof jsonBindings)[number];

/** Behavior that the protocol or its implementers leave open. */
export interface Habits {
  /** Default: true. */
  readonly streams?: boolean | undefined;
  /** What a subscription begins with. Default: the task. */
  readonly subscription?: "task" | "nothing" | undefined;
  /** How the agent refuses a subscription to an ended task. Default: `unsupportedOperation`. */
  readonly refusal?: A2AError["code"] | undefined;
  /** Whether all subscriptions are refused. */
  readonly refusesAll?: boolean | undefined;
  /** The ids of its events. The agent cannot resume after them. */
  readonly ids?: (() => string | undefined) | undefined;
  /** The task before the first message. */
  readonly task?: Task | undefined;
}

/** The queue of an open stream. */
interface Reader {
  readonly items: StreamItem[];
  ended: boolean;
  wake: () => void;
}

/** An agent whose events are emitted by the test. */
export class ForeignAgent implements AsyncDisposable {
  /** The operations called so far. */
  readonly calls: string[] = [];
  task: Task;
  readonly #habits: Habits;
  readonly #readers = new Set<Reader>();
  #served: HttpAgent | undefined;
  #waiters: { readonly isOver: () => boolean; readonly resolve: () => void }[] = [];

  constructor(habits: Habits) {
    this.#habits = habits;
    this.task = copyTask(habits.task ?? emptyTask("t", "c"));
  }

  async listen(): Promise<this> {
    const called = (name: string): void => {
      this.calls.push(name);
      this.#tell();
    };
    const service = serviceOf({
      sendMessage: async () => {
        called("sendMessage");
        const { value } = this.#answer;
        return {
          $typeName: "lf.a2a.v1.SendMessageResponse",
          payload:
            value.$typeName === "lf.a2a.v1.Message"
              ? { case: "message", value }
              : { case: "task", value: copyTask(value) },
        };
      },
      sendStreamingMessage: (_, context) => {
        called("sendStreamingMessage");
        this.#mustStream();
        return this.#stream([], context.signal);
      },
      subscribeToTask: (request, context) => {
        called("subscribeToTask");
        this.#mustStream();
        this.#mustKnow(request.id);
        const { refusal = "unsupportedOperation", refusesAll = false, subscription = "task" } = this.#habits;
        if (refusesAll || isTerminal(this.state)) throw new A2AError(refusal, "no subscription");
        return this.#stream(
          subscription === "task" ? [this.#numbered(taskEvent(copyTask(this.task)))] : [],
          context.signal,
        );
      },
      getTask: async ({ id }) => {
        called("getTask");
        this.#mustKnow(id);
        return copyTask(this.task);
      },
    });
    this.#served = await httpAgent(service);
    return this;
  }

  /** A message to send instead of a task. */
  reply: Message | undefined;

  get state(): TaskState {
    return this.task.status?.state ?? TaskState.UNSPECIFIED;
  }

  get port(): number {
    return this.#served?.port ?? 0;
  }

  /** The number of open streams. */
  get open(): number {
    return this.#readers.size;
  }

  /** Applies events to the task and sends them to every stream. */
  emit(...events: StreamResponse[]): void {
    for (const event of events) {
      this.keep(event);
      this.tell(event);
    }
  }

  /** Applies events to the task without sending them. */
  keep(...events: StreamResponse[]): void {
    for (const event of events) {
      if (event.payload.case === "task") this.task = copyTask(event.payload.value);
      else applyEvent(this.task, event);
    }
  }

  /** Sends events to every stream without applying them. */
  tell(...events: StreamResponse[]): void {
    for (const item of events.map((event) => this.#numbered(event))) {
      for (const reader of this.#readers) {
        reader.items.push(item);
        reader.wake();
      }
    }
  }

  /** Ends all streams in the regular way. */
  endStreams(): void {
    for (const reader of this.#readers) {
      reader.ended = true;
      reader.wake();
    }
  }

  /** Breaks all connections. */
  cut(): void {
    this.#served?.server.closeAllConnections();
  }

  /** Resolves when this many streams are open. */
  opened(count: number): Promise<void> {
    return this.until(() => this.open === count);
  }

  /** Resolves when the condition holds. Calls and streams re-check it. */
  until(isOver: () => boolean): Promise<void> {
    if (isOver()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ isOver, resolve }));
  }

  card(binding: JsonBinding, port = this.port): AgentCard {
    const path = binding === "JSONRPC" ? "/json-rpc" : "/http-json";
    const url = `http://127.0.0.1:${port}${path}`;
    return create(AgentCardSchema, {
      name: "Foreign",
      description: "Does what the test says",
      version: "1",
      supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0" }],
      capabilities: { streaming: this.#habits.streams ?? true },
    });
  }

  // With a hasty clock the limit of silence would expire at once.
  connect(binding: JsonBinding, options: ClientOptions = {}, clients = patientClients): Promise<Client> {
    return clients.connect(this.card(binding), { clock: hasty, ...options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#served?.[Symbol.asyncDispose]();
  }

  get #answer(): { value: Message | Task } {
    return { value: this.reply ?? this.task };
  }

  #mustStream(): void {
    if (this.#habits.streams === false) throw new A2AError("unsupportedOperation", "nothing is streamed");
  }

  #mustKnow(id: string): void {
    if (id !== this.task.id) throw taskNotFound(id);
  }

  #numbered(response: StreamResponse): StreamItem {
    return { response, id: this.#habits.ids?.() };
  }

  async *#stream(items: StreamItem[], signal: AbortSignal): AsyncGenerator<StreamItem, void, undefined> {
    const reader: Reader = { items, ended: false, wake: () => {} };
    const wake = (): void => reader.wake();
    this.#readers.add(reader);
    signal.addEventListener("abort", wake);
    this.#tell();
    try {
      while (!signal.aborted) {
        const item = reader.items.shift();
        if (item !== undefined) yield item;
        else if (reader.ended) return;
        else await new Promise<void>((resolve) => Object.assign(reader, { wake: resolve }));
      }
    } finally {
      this.#readers.delete(reader);
      this.#tell();
    }
  }

  #tell(): void {
    const over = this.#waiters.filter(({ isOver }) => isOver());
    this.#waiters = this.#waiters.filter((waiter) => !over.includes(waiter));
    for (const { resolve } of over) resolve();
  }
}

export function foreignAgent(habits: Habits = {}): Promise<ForeignAgent> {
  return new ForeignAgent(habits).listen();
}

/** A clock whose pauses end at once. */
export const hasty: Clock = {
  now: () => Date.now(),
  after(_, run) {
    const turn = setImmediate(run);
    return () => clearImmediate(turn);
  },
};
