import { type Message as AnyMessage, create } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { dynamic } from "../protocol/dynamic.js";
import { A2AError, type ErrorCode } from "../protocol/errors.js";
import {
  GetTaskRequestSchema,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  type SendMessageResponse,
  SubscribeToTaskRequestSchema,
  type Task,
} from "../protocol/model.js";
import { type Operation, operationOf, type StreamItem } from "../protocol/operations.js";
import { isStop } from "../protocol/states.js";
import type { Attempt } from "./interface-client.js";
import { numbered, type TaskView, taskItem } from "./task-view.js";
import { type Allowance, type ClientClock, pause } from "./timing.js";

const sendMessage = operationOf("sendMessage");
const getTask = operationOf("getTask");
export const subscribeToTask = operationOf("subscribeToTask");

/** How a stream goes on: events that are there already, and where more come from. */
export interface Source {
  readonly ready: readonly StreamItem[];
  readonly rest: AsyncIterator<StreamItem, unknown>;
}

export interface ResumptionOptions {
  readonly attempt: Attempt;
  readonly clock: ClientClock;
  /** False for an agent that cannot stream: it is asked for the task again and again. */
  readonly streaming: boolean;
  /** The first pause between two questions for a task, in milliseconds; the later ones grow to ten times it. */
  readonly pollMs: number;
}

export interface ResumptionCall {
  readonly operation: Operation;
  readonly request: AnyMessage;
  readonly allowance: Allowance;
  readonly signal: AbortSignal | undefined;
  readonly left: AbortSignal;
}

/** The ways to open a stream, and to go on with it after a break. */
export class Resumption {
  readonly #options: ResumptionOptions;
  readonly #call: ResumptionCall;
  readonly #view: TaskView;
  #canSubscribe: boolean;

  constructor(options: ResumptionOptions, call: ResumptionCall, view: TaskView) {
    this.#options = options;
    this.#call = call;
    this.#view = view;
    this.#canSubscribe = options.streaming;
  }

  /** The stream as it was asked for. */
  async begin(): Promise<Source> {
    const { operation, request } = this.#call;
    if (this.#options.streaming) return this.#open(operation, request);
    const first = operation === subscribeToTask ? taskItem(await this.#readTask()) : await this.#send();
    return { ready: [first], rest: this.#poll() };
  }

  /** What comes behind the last event: told by the agent, or found out by comparing. */
  async resume(): Promise<Source> {
    const { taskId: id, lastId } = this.#view;
    if (this.#canSubscribe) {
      try {
        const source = await this.#open(
          subscribeToTask,
          this.#addressed(create(SubscribeToTaskRequestSchema, { id })),
          lastId,
        );
        const continued = this.#continued(source);
        if (continued !== undefined) return continued;
      } catch (error) {
        if (!(error instanceof A2AError) || !refusals.has(error.code)) throw error;
      }
    }
    return { ready: this.#view.missed(await this.#readTask(), undefined), rest: this.#poll() };
  }

  // A subscription begins with the task, unless it goes on behind an event. What one that does neither has left out cannot
  // be known, so it is not used.
  #continued({ ready: [first], rest }: Source): Source | undefined {
    if (first?.response.payload.case === "task") {
      const { value } = first.response.payload;
      return { ready: this.#view.missed(value, first.id), rest };
    }
    if (first !== undefined && this.#view.lastId !== undefined) return { ready: [first], rest };
    rest.return?.().then(undefined, ignore);
    this.#canSubscribe = first === undefined && this.#canSubscribe;
    return undefined;
  }

  async #open(operation: Operation, request: AnyMessage, after?: string): Promise<Source> {
    const { allowance, left } = this.#call;
    const options: CallOptions = after === undefined ? allowance.next() : { ...allowance.next(), after };
    const { first, rest } = await this.#options.attempt.open(operation, request, options, left);
    return { ready: first.done === true ? [] : [numbered(first.value)], rest };
  }

  // A message to an agent that cannot stream: it answers with the task at once, and the task is followed from there.
  async #send(): Promise<StreamItem> {
    const request = this.#call.request as SendMessageRequest;
    const configuration = {
      ...(request.configuration ?? create(SendMessageConfigurationSchema)),
      returnImmediately: true,
    };
    const sent = { ...request, configuration };
    const { payload } = (await this.#unary(sendMessage, sent)) as SendMessageResponse;
    return { response: { $typeName: "lf.a2a.v1.StreamResponse", payload } };
  }

  async #readTask(): Promise<Task> {
    const id = this.#view.taskId || String(dynamic(this.#call.request)["id"]);
    return (await this.#unary(getTask, this.#addressed(create(GetTaskRequestSchema, { id })))) as Task;
  }

  #unary(operation: Operation, request: AnyMessage): Promise<AnyMessage> {
    return this.#options.attempt.unary(operation, request, this.#call.allowance.next());
  }

  #addressed<T extends { tenant: string }>(request: T): T {
    const tenant = dynamic(this.#call.request)["tenant"];
    return typeof tenant === "string" ? { ...request, tenant } : request;
  }

  async *#poll(): AsyncGenerator<StreamItem, void, undefined> {
    const { clock, pollMs } = this.#options;
    const { signal, left } = this.#call;
    for (let pauseMs = pollMs; !isStop(this.#view.state); pauseMs = Math.min(pauseMs * 1.5, pollMs * 10)) {
      await pause(clock, pauseMs, [signal, left]);
      yield* this.#view.missed(await this.#readTask(), undefined);
    }
  }
}

/** What agents answer to a subscription that they cannot give: the task has ended, or nothing is streamed. */
const refusals: ReadonlySet<ErrorCode> = new Set(["unsupportedOperation", "methodNotFound", "methodNotAllowed"]);

function ignore(): void {}
