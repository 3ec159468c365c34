import { EventEmitter } from "node:events";
import { equals } from "@bufbuild/protobuf";
import { type AbortKind, type Turn, TurnAborted } from "../core/agent.js";
import { A2AError } from "../protocol/errors.js";
import { type AgentEvent, artifactEvent, statusEvent } from "../protocol/events.js";
import { applyEvent, artifactIndex, copyTask, emptyTask, settleStatusMessage } from "../protocol/fold.js";
import {
  ArtifactSchema,
  type Message,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  typeNames,
} from "../protocol/model.js";
import { isInterrupted, isTerminal } from "../protocol/states.js";
import { translateError } from "./errors.js";
import type { ExecutionEventBus } from "./executor.js";
import type { PublishedEvent, SdkObjects } from "./objects.js";

// One turn of an executor. Published events wait in a queue and are emitted in order. The execution ends with a message, a
// terminal state, a final event or `finished()`. In 1.x it also ends when `execute` returns, unless the task waits for
// authentication: the executor may publish more once that is granted. While an execution is in an interrupted state, a
// message to the task runs `execute` on the same bus. In other states no message is received: one that comes as the turn
// ends starts the next turn.

/** An executor of any generation. */
export interface AnyExecutor {
  execute(requestContext: unknown, eventBus: unknown): Promise<void>;
  cancelTask(taskId: string, eventBus: unknown): Promise<void>;
}

/** The event bus of an execution. Like the SDK's, it emits `event` and `finished` to listeners. */
class EventBus extends EventEmitter implements ExecutionEventBus<unknown> {
  readonly #onPublish: (event: unknown) => void;
  readonly #onFinished: () => void;

  constructor(onPublish: (event: unknown) => void, onFinished: () => void) {
    super();
    // The SDK's bus does not warn of many listeners.
    this.setMaxListeners(0);
    this.#onPublish = onPublish;
    this.#onFinished = onFinished;
  }

  publish(event: unknown): void {
    this.#onPublish(event);
    this.emit("event", event);
  }

  finished(): void {
    this.#onFinished();
    this.emit("finished");
  }
}

export class ExecutorRun {
  readonly #executor: AnyExecutor;
  readonly #objects: SdkObjects;
  readonly #turn: Turn;
  readonly #bus = new EventBus(
    (event) => this.#publish(event),
    () => this.#finish(),
  );
  /** The task as the executor has made it. */
  readonly #task: Task;
  readonly #queue: unknown[] = [];
  #wake: (() => void) | undefined;
  /** Calls of `execute` and `cancelTask` that have not returned. */
  #runningCalls = 0;
  #isFinished = false;
  #isSilent = true;
  #isReceiving = false;
  /** The interrupted state that this execution has published, until it publishes another state or gets an answer. */
  #interruption: TaskState | undefined;
  /** A task was published, but no event was emitted yet that would create it. */
  #owesTask = false;
  #failure: { readonly error: unknown } | undefined;
  #abortKind: AbortKind | undefined;

  constructor(executor: AnyExecutor, objects: SdkObjects, turn: Turn) {
    this.#executor = executor;
    this.#objects = objects;
    this.#turn = turn;
    this.#task = turn.task === undefined ? emptyTask(turn.taskId, turn.contextId) : copyTask(turn.task);
  }

  /** Runs the executor for the message of the turn. */
  async run(): Promise<void> {
    const { signal, message, task } = this.#turn;
    if (signal.aborted) return;
    const abort = (): void => this.#abort(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      await this.#execute(message, task);
      await this.#emitAll();
    } finally {
      signal.removeEventListener("abort", abort);
      this.#isFinished = true;
    }
  }

  async #execute(message: Message, task: Task | undefined): Promise<void> {
    const { taskId, contextId } = this.#turn;
    const references = await this.#turn.references();
    if (this.#turn.signal.aborted) return;
    const request = { turn: this.#turn, message: { ...message, taskId, contextId }, task, references };
    const context = this.#objects.requestContext(request);
    this.#call(
      () => this.#executor.execute(context, this.#bus),
      (error) => {
        if (this.#isFinished)
          this.#turn.logger.warn({ err: error }, "the executor failed after its execution had ended");
        this.#failure ??= { error };
      },
    );
  }

  #call(act: () => Promise<void>, onFailure: (error: unknown) => void): void {
    this.#runningCalls++;
    // An executor that is not an async function may throw at once.
    const settlement = (async () => act())().catch(onFailure);
    void settlement.then(() => {
      this.#runningCalls--;
      this.#wake?.();
    });
  }

  #publish(event: unknown): void {
    if (this.#isFinished) {
      this.#turn.logger.debug({}, "an event after the end of the execution was dropped");
      return;
    }
    this.#queue.push(event);
    this.#wake?.();
  }

  #finish(): void {
    this.#isFinished = true;
    this.#wake?.();
  }

  #abort(reason: unknown): void {
    this.#abortKind = reason instanceof TurnAborted ? reason.kind : "Canceled";
    this.#call(
      () => this.#executor.cancelTask(this.#turn.taskId, this.#bus),
      (error) => this.#turn.logger.warn({ err: error }, "the executor could not cancel its task"),
    );
    this.#wake?.();
  }

  async #emitAll(): Promise<void> {
    while (!(await this.#emitQueued()) && !this.#isFinished) {
      if (this.#failure !== undefined) throw this.#explain(this.#failure.error);
      if (this.#isOver()) return this.#assertPublished();
      await this.#waitForWake();
    }
  }

  #explain(error: unknown): unknown {
    if (this.#isSilent && error instanceof TypeError) this.#turn.logger.warn({ err: error }, this.#objects.advice);
    return translateError(error);
  }

  /** Emits the queued events. Returns true if one of them ends the execution. */
  async #emitQueued(): Promise<boolean> {
    while (this.#queue.length > 0 || this.#owesTask) {
      for (const event of this.#queue.splice(0)) {
        if (await this.#emitPublication(this.#objects.read(event))) return true;
      }
      if (this.#queue.length === 0 && this.#owesTask) await this.#emit(statusEvent(TaskState.SUBMITTED));
    }
    return false;
  }

  /** Returns true if the publication ends the execution. */
  async #emitPublication(publication: PublishedEvent): Promise<boolean> {
    if (this.#isUnasked(publication)) return true;
    const events = this.#translate(publication);
    this.#owesTask ||= this.#isSilent && events.length === 0;
    this.#isSilent = false;
    for (const event of events) await this.#emit(event);
    if (publication.kind === "message") return true;
    if (publication.kind === "status" && publication.final) return true;
    return isTerminal(this.#state);
  }

  #translate(publication: PublishedEvent): readonly AgentEvent[] {
    switch (publication.kind) {
      case "message":
        return [publication.message];
      case "task":
        return diffTask(publication.task, this.#task);
      default:
        return [publication.event];
    }
  }

  async #emit(event: AgentEvent): Promise<void> {
    this.#owesTask = false;
    this.#fold(event);
    try {
      await this.#turn.emit(event);
    } catch (error) {
      // The first `emit` after an abort throws to report the abort. The second one emits.
      if (!(error instanceof TurnAborted)) throw error;
      await this.#turn.emit(event);
    }
  }

  #fold(event: AgentEvent): void {
    switch (event.$typeName) {
      case typeNames.TaskStatusUpdateEvent: {
        const state = event.status?.state ?? TaskState.UNSPECIFIED;
        this.#interruption = isInterrupted(state) ? state : undefined;
        return applyEvent(this.#task, createResponse({ case: "statusUpdate", value: event }));
      }
      case typeNames.TaskArtifactUpdateEvent:
        return applyEvent(this.#task, createResponse({ case: "artifactUpdate", value: event }));
    }
  }

  // At a shutdown or a deadline, no caller has canceled: the CANCELED with which executors answer `cancelTask` is dropped.
  #isUnasked(publication: PublishedEvent): boolean {
    if (this.#abortKind === undefined || this.#abortKind === "Canceled") return false;
    return readState(publication) === TaskState.CANCELED;
  }

  get #state(): TaskState {
    return this.#task.status?.state ?? TaskState.UNSPECIFIED;
  }

  #isOver(): boolean {
    if (this.#runningCalls > 0 || this.#isReceiving) return false;
    if (this.#abortKind !== undefined) return true;
    return this.#objects.endsOnReturn && this.#interruption !== TaskState.AUTH_REQUIRED;
  }

  #assertPublished(): void {
    if (!this.#isSilent || this.#abortKind !== undefined) return;
    throw new A2AError("invalidAgentResponse", "the executor returned without having published an event");
  }

  /** Waits for an event, the end of a call, or an abort. */
  async #waitForWake(): Promise<void> {
    const wakeUp = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (this.#interruption !== undefined && !this.#isReceiving && this.#abortKind === undefined) void this.#receive();
    await wakeUp;
    this.#wake = undefined;
  }

  async #receive(): Promise<void> {
    this.#isReceiving = true;
    try {
      const message = await this.#turn.receive();
      this.#interruption = undefined;
      const task = copyTask(this.#task);
      settleStatusMessage(this.#task);
      this.#task.history.push(message);
      this.#task.status = { $typeName: typeNames.TaskStatus, state: TaskState.WORKING };
      task.history = [...this.#task.history];
      await this.#execute(message, task);
    } catch (error) {
      if (!(error instanceof TurnAborted) && !this.#isFinished) this.#failure ??= { error };
    } finally {
      this.#isReceiving = false;
      this.#wake?.();
    }
  }
}

function createResponse(payload: StreamResponse["payload"]): StreamResponse {
  return { $typeName: typeNames.StreamResponse, payload };
}

function readState(publication: PublishedEvent): TaskState | undefined {
  if (publication.kind === "status") return publication.event.status?.state;
  return publication.kind === "task" ? publication.task.status?.state : undefined;
}

/**
 * Returns the events that change the current task to the published one: messages of the agent that the history lacks,
 * artifacts that are new or have changed, then the status if it differs.
 */
function diffTask(published: Task, current: Task): readonly AgentEvent[] {
  const { status, metadata } = published;
  const isKnown = (id: string): boolean =>
    current.status?.message?.messageId === id || current.history.some(({ messageId }) => messageId === id);
  const newMessages = published.history.filter(
    ({ role, messageId }) => role === Role.AGENT && messageId !== status?.message?.messageId && !isKnown(messageId),
  );
  const newArtifacts = published.artifacts.filter((artifact) => {
    const artifactNow = current.artifacts[artifactIndex(current.artifacts, artifact.artifactId)];
    return artifactNow === undefined || !equals(ArtifactSchema, artifactNow, artifact);
  });
  const events: AgentEvent[] = [
    ...newMessages.map((message) => statusEvent(TaskState.WORKING, message)),
    ...newArtifacts.map((artifact) => artifactEvent(artifact, false, true)),
  ];
  const message = status?.message;
  const state = status?.state ?? TaskState.UNSPECIFIED;
  const isSame = state === current.status?.state && (message === undefined || isKnown(message.messageId));
  const hasMetadata = metadata !== undefined && JSON.stringify(metadata) !== JSON.stringify(current.metadata ?? {});
  if (state === TaskState.UNSPECIFIED || (isSame && !hasMetadata)) return events;
  return [...events, statusEvent(state, message, { metadata: hasMetadata ? metadata : undefined })];
}
