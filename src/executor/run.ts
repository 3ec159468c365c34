import { type AbortKind, type Turn, TurnAborted } from "../core/agent.js";
import { A2AError } from "../protocol/errors.js";
import { type AgentEvent, statusEvent } from "../protocol/events.js";
import { applyEvent, copyTask, emptyTask, settleStatusMessage } from "../protocol/fold.js";
import { type Message, type StreamResponse, type Task, TaskState } from "../protocol/model.js";
import { isInterrupted, isTerminal } from "../protocol/states.js";
import { translateError } from "./errors.js";
import { EventBus } from "./event-bus.js";
import type { PublishedEvent, SdkObjects } from "./objects.js";
import { eventsOfTask } from "./published-task.js";

// One turn of an executor. What it publishes waits in a queue and is emitted in order. The execution ends with a
// message, a terminal state, a final event or `finished()`; in 1.x also when `execute` has returned, unless the task
// waits for authentication, since the executor may then publish more once it has been granted. While an execution lasts
// in an interrupted state, a message to the task runs `execute` on the same bus. No message is asked for otherwise: one
// that comes as the turn ends starts the next turn.

/** An executor of any generation. */
export interface AnyExecutor {
  execute(requestContext: unknown, eventBus: unknown): Promise<void>;
  cancelTask(taskId: string, eventBus: unknown): Promise<void>;
}

export class ExecutorRun {
  readonly #executor: AnyExecutor;
  readonly #objects: SdkObjects;
  readonly #turn: Turn;
  readonly #bus = new EventBus({ publish: (event) => this.#publish(event), finished: () => this.#finish() });
  /** The task as the executor has made it. */
  readonly #task: Task;
  readonly #queue: unknown[] = [];
  #wake: (() => void) | undefined;
  /** Calls of `execute` and `cancelTask` that have not returned. */
  #running = 0;
  #isFinished = false;
  #isSilent = true;
  #isReceiving = false;
  /** The interrupted state that this execution has published, until another one or an answer. */
  #asked: TaskState | undefined;
  /** A task was published, and no event of it yet that would create it. */
  #owesTask = false;
  #failure: { readonly error: unknown } | undefined;
  #aborted: AbortKind | undefined;

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

  #call(act: () => Promise<void>, failed: (error: unknown) => void): void {
    this.#running++;
    // It may throw at once: an executor need not be an async function.
    const settled = (async () => act())().catch(failed);
    void settled.then(() => {
      this.#running--;
      this.#wake?.();
    });
  }

  #publish(event: unknown): void {
    if (this.#isFinished) {
      this.#turn.logger.debug({}, "an event behind the end of the execution was dropped");
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
    this.#aborted = reason instanceof TurnAborted ? reason.kind : "Canceled";
    this.#call(
      () => this.#executor.cancelTask(this.#turn.taskId, this.#bus),
      (error) => this.#turn.logger.warn({ err: error }, "the executor could not cancel its task"),
    );
    this.#wake?.();
  }

  async #emitAll(): Promise<void> {
    while (!(await this.#emitQueued()) && !this.#isFinished) {
      if (this.#failure !== undefined) throw this.#explained(this.#failure.error);
      if (this.#isOver()) return this.#checkSaid();
      await this.#next();
    }
  }

  #explained(error: unknown): unknown {
    if (this.#isSilent && error instanceof TypeError) this.#turn.logger.warn({ err: error }, this.#objects.advice);
    return translateError(error);
  }

  /** Emits everything that was published. Returns true if an event ends the execution. */
  async #emitQueued(): Promise<boolean> {
    while (this.#queue.length > 0 || this.#owesTask) {
      for (const event of this.#queue.splice(0)) {
        if (await this.#emitOne(this.#objects.read(event))) return true;
      }
      if (this.#queue.length === 0 && this.#owesTask) await this.#emit(statusEvent(TaskState.SUBMITTED));
    }
    return false;
  }

  /** Emits what was published. Returns true if it ends the execution. */
  async #emitOne(published: PublishedEvent): Promise<boolean> {
    if (this.#isUnasked(published)) return true;
    const events = this.#eventsOf(published);
    this.#owesTask ||= this.#isSilent && events.length === 0;
    this.#isSilent = false;
    for (const event of events) await this.#emit(event);
    if (published.kind === "message") return true;
    if (published.kind === "status" && published.final) return true;
    return isTerminal(this.#state);
  }

  #eventsOf(published: PublishedEvent): readonly AgentEvent[] {
    switch (published.kind) {
      case "message":
        return [published.message];
      case "task":
        return eventsOfTask(published.task, this.#task);
      default:
        return [published.event];
    }
  }

  async #emit(event: AgentEvent): Promise<void> {
    this.#owesTask = false;
    this.#fold(event);
    try {
      await this.#turn.emit(event);
    } catch (error) {
      // The first event after an abort is refused to tell of it: it is emitted again.
      if (!(error instanceof TurnAborted)) throw error;
      await this.#turn.emit(event);
    }
  }

  #fold(event: AgentEvent): void {
    switch (event.$typeName) {
      case "lf.a2a.v1.TaskStatusUpdateEvent": {
        const state = event.status?.state ?? TaskState.UNSPECIFIED;
        this.#asked = isInterrupted(state) ? state : undefined;
        return applyEvent(this.#task, wrapped({ case: "statusUpdate", value: event }));
      }
      case "lf.a2a.v1.TaskArtifactUpdateEvent":
        return applyEvent(this.#task, wrapped({ case: "artifactUpdate", value: event }));
    }
  }

  // An executor answers `cancelTask` with CANCELED also where no caller has canceled: at a shutdown or a deadline.
  #isUnasked(published: PublishedEvent): boolean {
    if (this.#aborted === undefined || this.#aborted === "Canceled") return false;
    return stateOf(published) === TaskState.CANCELED;
  }

  get #state(): TaskState {
    return this.#task.status?.state ?? TaskState.UNSPECIFIED;
  }

  #isOver(): boolean {
    if (this.#running > 0 || this.#isReceiving) return false;
    if (this.#aborted !== undefined) return true;
    return this.#objects.endsOnReturn && this.#asked !== TaskState.AUTH_REQUIRED;
  }

  #checkSaid(): void {
    if (!this.#isSilent || this.#aborted !== undefined) return;
    throw new A2AError("invalidAgentResponse", "the executor returned without having published an event");
  }

  /** Waits until something has happened. */
  async #next(): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    if (this.#asked !== undefined && !this.#isReceiving && this.#aborted === undefined) void this.#receive();
    await woken;
    this.#wake = undefined;
  }

  async #receive(): Promise<void> {
    this.#isReceiving = true;
    try {
      const message = await this.#turn.receive();
      this.#asked = undefined;
      const task = copyTask(this.#task);
      settleStatusMessage(this.#task);
      this.#task.history.push(message);
      this.#task.status = { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.WORKING };
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

function wrapped(payload: StreamResponse["payload"]): StreamResponse {
  return { $typeName: "lf.a2a.v1.StreamResponse", payload };
}

function stateOf(published: PublishedEvent): TaskState | undefined {
  if (published.kind === "status") return published.event.status?.state;
  return published.kind === "task" ? published.task.status?.state : undefined;
}
