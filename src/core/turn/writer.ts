import { replacedBytes, sizeOfEvent, sizeOfMessage } from "../../protocol/check/size.js";
import type { A2AError } from "../../protocol/errors.js";
import { reply } from "../../protocol/events.js";
import { artifactIndex } from "../../protocol/fold.js";
import { type Message, type StreamResponse, TaskState } from "../../protocol/model.js";
import { endsBlockingSend, isInterrupted, isTerminal } from "../../protocol/states.js";
import type { InboxEntry } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { historyFull, LiveTask, tooLarge } from "../task/live-task.js";
import { type EventIds, type NormalEvent, statusUpdate } from "../task/normalize.js";
import { type Draft, messageDraft, recordBytes, sizeOfRecords } from "../task/record.js";
import type { TurnStart, TurnTarget } from "../turn-start.js";
import type { TurnRun } from "./run.js";
import type { TurnState } from "./turn-state.js";

// From what an agent emits to the records of its task. Without a task yet, the first event that needs one creates it, and
// the records that begin it are the prelude of that event: start, message and SUBMITTED in the same write. A continued
// task that waited for its caller becomes WORKING before its next event, unless that is a status. A status that ends the
// task also ends the turn, in the same write.
//
// `normalizeEvent` has checked the event; here only sizes and the length of the history can refuse it, before anything
// of it has been written.

/** A task to write to, and the records that must precede the next event. */
interface OpenedTask {
  readonly live: LiveTask;
  readonly prelude: readonly Draft[];
}

interface Status {
  readonly state: TaskState;
  readonly event: StreamResponse;
  /** Size of the event. */
  readonly bytes: number;
}

/**
 * Writes a turn's events and, before the first of them, the records that begin the task. Without an event that needs
 * one no task is created.
 */
export class TurnWriter {
  readonly identity: EventIds;
  readonly #runtime: Runtime;
  readonly #start: TurnStart;
  readonly #target: TurnTarget;
  readonly #state: TurnState;
  #live: LiveTask | undefined;
  readonly #onTask: (live: LiveTask) => void;
  /** The turn continues a task whose state is not WORKING yet: that status is written before its next event. */
  #needsWorking: boolean;
  #artifactIds: Map<object, string> | undefined;
  /** Artifacts that this turn has begun, some of which may not be stored yet. */
  readonly #begunArtifacts = new Set<string>();
  #ordinal = 0;

  constructor({ runtime, start, target, state }: TurnRun, onTask: (live: LiveTask) => void) {
    this.#runtime = runtime;
    this.#start = start;
    this.#target = target;
    this.#state = state;
    this.#onTask = onTask;
    this.#live = "live" in target ? target.live : undefined;
    this.#needsWorking = this.#live !== undefined && this.#live.state !== TaskState.WORKING;
    const { newId } = runtime;
    const ids = "live" in target ? { taskId: target.live.id, contextId: target.live.contextId } : target;
    this.identity = {
      taskId: ids.taskId,
      contextId: ids.contextId,
      newId,
      artifactId: (key) => this.#artifactId(key),
    };
  }

  /** The task, once it exists. */
  get live(): LiveTask | undefined {
    return this.#live;
  }

  /**
   * Writes an event: accepted at once (`undefined`), or stored when the promise resolves. Throws when it is too large.
   */
  write(normal: NormalEvent): Promise<void> | undefined {
    if (normal.kind === "reply") return this.#reply(normal.message);
    this.#runtime.taskUse.noteTask();
    if (normal.kind === "status") return this.#status(normal.state, normal.event);
    if (normal.kind === "park") return this.#park(normal.wakeAt);
    const begunId = this.#beginArtifact(normal.event);
    const bytes = this.#checkSize(normal.event);
    if (begunId !== undefined) this.#begunArtifacts.add(begunId);
    const { live, prelude } = this.#open(false);
    const drafts: readonly Draft[] = [...prelude, { kind: "event", event: normal.event }];
    const recordsBytes = sizeOfRecords(prelude) + recordBytes + bytes;
    if (normal.lastChunk) return live.addStored(drafts, recordsBytes);
    live.add(drafts, recordsBytes);
    return undefined;
  }

  /**
   * Sets `append` to false in the first chunk of an artifact, whatever the agent says: some clients fail on a first
   * chunk that appends. Returns the id of the artifact that the event begins or replaces.
   */
  #beginArtifact({ payload }: StreamResponse): string | undefined {
    if (payload.case !== "artifactUpdate" || payload.value.artifact === undefined) return undefined;
    const { value } = payload;
    const { artifactId } = payload.value.artifact;
    if (value.append) {
      const isKnown =
        this.#begunArtifacts.has(artifactId) ||
        (this.#live !== undefined && artifactIndex(this.#live.task.artifacts, artifactId) >= 0);
      if (isKnown) return undefined;
      value.append = false;
    }
    return artifactId;
  }

  /** Ends the turn in a terminal state, in one write that no inbox can delay. */
  async end(state: TaskState, text?: string): Promise<void> {
    // The agent has returned without an event. A failure would not show whether it makes tasks.
    if (state === TaskState.COMPLETED) this.#runtime.taskUse.noteTask();
    const message = text === undefined ? undefined : reply(text);
    const event = statusUpdate(state, this.identity, message);
    await this.#addStatus(this.#open(true), { state, event, bytes: sizeOfEvent(event) });
  }

  /** Ends the turn after the store has refused a write: what waited behind it is gone. */
  async endAfterStoreRefusal({ message }: A2AError): Promise<void> {
    const isCanceled = this.#state.abortReason?.kind === "Canceled";
    const state = isCanceled ? TaskState.CANCELED : TaskState.FAILED;
    const event = statusUpdate(state, this.identity, isCanceled ? undefined : reply(message));
    this.#live?.setState(state);
    await this.#live?.endAfterStoreRefusal([{ kind: "event", event }, { kind: "turnEnded" }]);
  }

  /** Creates a task for the caller before the agent's first event: SUBMITTED, or WORKING on a continued one. */
  makeTask(): void {
    const { live, prelude } = this.#open(false);
    if (prelude.length > 0) live.add(prelude);
  }

  /** The task, created now if necessary; a continued one stays as it is. */
  ensureTask(): LiveTask {
    this.#runtime.taskUse.noteTask();
    if (this.#live !== undefined) return this.#live;
    this.#state.emitEvent();
    const { live, prelude } = this.#open(true);
    live.add(prelude);
    return live;
  }

  /**
   * Takes a waiting message or wake into the turn, in a write of its own that is refused when it was withdrawn
   * meanwhile.
   */
  async take(live: LiveTask, { id, send }: InboxEntry): Promise<boolean> {
    const drafts: Draft[] = send === undefined ? [] : [messageDraft(live, id, send)];
    const { state } = live;
    // Without this record the write of a wake would be empty.
    if (isInterrupted(state) || send === undefined) drafts.push(this.#statusDraft(live, TaskState.WORKING));
    const result = await live.exclusive(drafts, { takes: [id] });
    if (result !== "stored") {
      if (live.state === TaskState.WORKING) live.setState(state);
      return false;
    }
    live.forgetSender(id);
    this.#state.takeMessage();
    this.#needsWorking = false;
    return true;
  }

  // The live task and the records that must precede the next event: the start of the task, or WORKING on a continued
  // one.
  #open(isStatus: boolean): OpenedTask {
    if (this.#live !== undefined) {
      const prelude = this.#needsWorking && !isStatus ? [this.#statusDraft(this.#live, TaskState.WORKING)] : [];
      if (prelude.length > 0) this.#needsWorking = false;
      return { live: this.#live, prelude };
    }
    if (!("receiver" in this.#target)) throw new TypeError("a continued turn has its task");
    const { taskId: id, contextId, version, name, receiver } = this.#target;
    const { scope, attempt, cause, entry, send } = this.#start;
    const live = new LiveTask(this.#runtime, { id, contextId, scope, version, name });
    this.#live = live;
    this.#runtime.live.set(id, live);
    this.#onTask(live);
    receiver.task(live);
    const prelude: Draft[] = [
      { kind: "turnStarted", turn: 1, attempt, cause },
      messageDraft(live, entry, send),
      this.#statusDraft(live, TaskState.SUBMITTED),
    ];
    return { live, prelude };
  }

  // The task keeps its state, WORKING unless it asked for something; the turn ends when its agent does.
  #park(wakeAt: number | undefined): undefined {
    const { live, prelude } = this.#open(true);
    const isBegun = this.#state.output.name === "stopped" || live.state === TaskState.WORKING;
    const drafts = isBegun ? prelude : [...prelude, this.#statusDraft(live, TaskState.WORKING)];
    if (drafts.length > 0) live.add(drafts);
    this.#state.park({ wakeAt });
  }

  // Without a task the message is the whole answer; with one it completes the task.
  #reply(message: Message): Promise<void> | undefined {
    if ("receiver" in this.#target) this.#runtime.taskUse.noteReply();
    if (this.#live !== undefined) {
      return this.#status(TaskState.COMPLETED, statusUpdate(TaskState.COMPLETED, this.identity, message));
    }
    const { eventMaxBytes } = this.#runtime.limits;
    const bytes = sizeOfMessage(message);
    if (bytes > eventMaxBytes) throw tooLarge("the message", "eventMaxBytes", eventMaxBytes);
    const opening = "receiver" in this.#target ? this.#target.receiver : undefined;
    if (opening?.replyMaxBytes !== undefined && bytes > opening.replyMaxBytes) {
      return this.#status(TaskState.COMPLETED, statusUpdate(TaskState.COMPLETED, this.identity, message));
    }
    this.#state.answer();
    opening?.reply(message, bytes);
    return undefined;
  }

  #status(state: TaskState, event: StreamResponse): Promise<void> {
    const bytes = this.#checkSize(event);
    const { live, prelude } = this.#open(true);
    const { historyMaxMessages } = this.#runtime.limits;
    if (live.task.history.length >= historyMaxMessages) throw historyFull(historyMaxMessages);
    return this.#addStatus({ live, prelude }, { state, event, bytes });
  }

  #addStatus({ live, prelude }: OpenedTask, { state, event, bytes }: Status): Promise<void> {
    this.#needsWorking = false;
    if (isTerminal(state)) this.#state.answer();
    else this.#state.emitStatus(endsBlockingSend(state));
    live.setState(state);
    const drafts: Draft[] = [...prelude, { kind: "event", event }];
    const recordsBytes = sizeOfRecords(prelude) + recordBytes + bytes;
    if (!isTerminal(state)) return live.addStored(drafts, recordsBytes);
    drafts.push({ kind: "turnEnded" });
    return live.addStored(drafts, recordsBytes + recordBytes, { end: { inboxPut: 0 } });
  }

  /** Returns the size of the event. */
  #checkSize(event: StreamResponse): number {
    const { eventMaxBytes, taskMaxBytes } = this.#runtime.limits;
    const bytes = sizeOfEvent(event);
    if (bytes > eventMaxBytes) throw tooLarge("the event", "eventMaxBytes", eventMaxBytes);
    const fits = this.#live?.grow(bytes - replacedBytes(this.#live.task, event)) ?? true;
    if (!fits) throw tooLarge("the task", "taskMaxBytes", taskMaxBytes);
    return bytes;
  }

  #statusDraft(live: LiveTask, state: TaskState): Draft {
    live.setState(state);
    return { kind: "event", event: statusUpdate(state, this.identity) };
  }

  #artifactId(key: object | undefined): string {
    const existing = key === undefined ? undefined : this.#artifactIds?.get(key);
    if (existing !== undefined) return existing;
    const id = `${this.#live?.turn ?? 1}.${++this.#ordinal}`;
    if (key !== undefined) {
      this.#artifactIds ??= new Map();
      this.#artifactIds.set(key, id);
    }
    return id;
  }
}
