import type { Append, Head, LogRecord, NewTask } from "../../../src/core/ports.js";
import { applyRecord } from "../../../src/core/task/fold.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import { type Task, type TaskArtifactUpdateEvent, TaskState } from "../../../src/protocol/model.js";
import { isInterrupted, isTerminal } from "../../../src/protocol/states.js";
import { digestOf, freeze } from "./digest.js";

/** The history of one task, write by write, as the store applied it. */
export interface TaskHistory {
  readonly id: string;
  readonly key: number;
  readonly records: LogRecord[];
  readonly task: Task;
  /** The task's digest after each record; `[0]` before the first. */
  readonly digests: string[];
  readonly states: TaskState[];
  /** The writer of each epoch. */
  readonly writers: string[];
  statusTime: number;
  turnOpen: boolean;
  /** Its last turn parked it. */
  parked: boolean;
  /** Number of the turn's last chunk: the simulator's agents number their chunks. */
  chunk: number;
  /** Ids of the messages that the turn took since it started. */
  takenInTurn: string[];
}

/** Records the store's effects and checks each write against the invariants. */
export class Journal {
  readonly tasks = new Map<string, TaskHistory>();
  readonly violations: string[] = [];
  /** Where each message was taken, by message id. */
  readonly receipts = new Map<string, { readonly task: string; readonly seq: number; readonly entry: string }>();
  /** Task ids by the names that callers gave. */
  readonly named = new Map<string, string>();
  /** By task: the last chunk of an agent that has come to its end. */
  readonly received = new Set<string>();
  readonly lastChunks = new Map<string, number>();
  /** The store returns equal objects, not the same ones. */
  isEncoded = false;
  /** What wakes delivered to a turn, and its task. */
  readonly wakes = new Map<unknown, string>();
  /** Tasks that were the answer to a send. */
  readonly answers = new Set<string>();
  /** The last position of each task that a caller was shown. */
  readonly #shown = new Map<string, number>();
  /** Number of turns that were re-run. */
  restarts = 0;
  readonly #byKey = new Map<number, TaskHistory>();
  readonly #withdrawn = new Set<string>();

  fail(text: string): void {
    this.violations.push(text);
  }

  /** A caller was shown a task as of a position. */
  show(taskId: string, seq: number): void {
    this.#shown.set(taskId, Math.max(seq, this.shown(taskId)));
  }

  shown(taskId: string): number {
    return this.#shown.get(taskId) ?? 0;
  }

  created(process: string, write: NewTask, { id, key }: Head): void {
    const history: TaskHistory = {
      id,
      key,
      records: [],
      task: emptyTask(id, write.contextId),
      digests: [digestOf(emptyTask(id, write.contextId))],
      states: [TaskState.UNSPECIFIED],
      writers: ["", process],
      statusTime: 0,
      turnOpen: false,
      parked: false,
      chunk: -1,
      takenInTurn: [],
    };
    this.tasks.set(id, history);
    if (write.name !== undefined) this.#name(write.name, id);
    this.#byKey.set(key, history);
    this.#write(history, write);
  }

  #name(name: string, id: string): void {
    const otherId = this.named.get(name);
    if (otherId !== undefined) this.fail(`${name} is the name of ${otherId} and of ${id}`);
    this.named.set(name, id);
  }

  appended(process: string, write: Append): void {
    const history = this.#byKey.get(write.key);
    if (history === undefined) return this.fail(`a write to a task that nobody made: ${write.key}`);
    if (write.seq !== history.records.length) this.fail(`${history.id}: a write at ${write.seq} was let through`);
    const current = history.writers.length - 1;
    if (write.epoch !== current) this.fail(`${history.id}: a write of epoch ${write.epoch} in epoch ${current}`);
    if (write.claim !== undefined) {
      // What the agent said in a process that was presumed dead may never be stored.
      if (history.writers[current] !== process) this.lastChunks.delete(history.id);
      history.writers.push(process);
    } else if (history.writers[current] !== process) {
      this.fail(`${history.id}: ${process} writes in the epoch ${current} of ${history.writers[current]}`);
    }
    this.#write(history, write);
  }

  withdrawn(entry: string): void {
    this.#withdrawn.add(entry);
    for (const record of this.receipts.values()) {
      if (record.entry === entry) this.fail(`${record.task}: a message was taken and withdrawn as well`);
    }
  }

  /** The first event after a position. */
  eventAfter({ records }: TaskHistory, seq: number): (LogRecord & { readonly kind: "event" }) | undefined {
    for (let index = seq; index < records.length; index++) {
      const record = records[index];
      if (record?.kind === "event") return record;
    }
    return undefined;
  }

  #write(history: TaskHistory, write: NewTask | Append): void {
    const { records, snapshot, status, end } = write;
    const { id } = history;
    const begins = records.some(({ kind }) => kind === "turnStarted");
    // A parking turn ends in the same write that starts the next one.
    if (history.turnOpen && begins && write.takes !== undefined) this.#turnEnds(history);
    if (isTerminal(history.states.at(-1) ?? TaskState.UNSPECIFIED)) this.fail(`${id}: a write behind the end`);
    const isInterruptedNow = isInterrupted(history.states.at(-1) ?? TaskState.UNSPECIFIED);
    for (const record of records) this.#record(history, record);
    if (begins) history.parked = false;
    if (end !== undefined && history.turnOpen) this.#turnEnds(history);
    if (end !== undefined) history.parked = end.park !== undefined;
    const isFollowUp =
      records.some(({ kind }) => kind === "message") && !records.some(({ kind }) => kind === "turnStarted");
    if (isFollowUp && isInterruptedNow && isInterrupted(history.states.at(-1) ?? 0))
      this.fail(`${id}: was answered, and goes on asking`);
    const state = history.states.at(-1);
    if (status !== undefined && status.state !== state)
      this.fail(`${id}: the head says ${status.state}, the log ${state}`);
    if (snapshot === undefined) return;
    freeze(snapshot.task);
    if (digestOf(snapshot.task) !== history.digests.at(-1))
      this.fail(`${id}: the snapshot is not what the log adds up to`);
  }

  #record(history: TaskHistory, record: LogRecord): void {
    const { id, records, states, task } = history;
    if (record.seq !== records.length + 1) this.fail(`${id}: record ${record.seq} follows ${records.length}`);
    freeze(record);
    records.push(record);
    applyRecord(task, record);
    history.digests.push(digestOf(task));
    states.push(states.at(-1) ?? TaskState.UNSPECIFIED);
    if (record.kind === "event") return this.#event(history, record);
    if (record.kind === "message") return this.#message(history, record);
    if (record.kind === "turnEnded" || record.kind === "turnParked") return this.#turnEnds(history);
    if (record.kind === "turnReleased") return;
    if (record.cause === "restart") {
      this.restarts++;
      if (!history.turnOpen && records.at(-2)?.kind !== "turnReleased")
        this.fail(`${id}: a turn runs again at ${record.seq} that had ended`);
      if (record.attempt > 4) this.fail(`${id}: a turn runs for the ${record.attempt}th time`);
      this.lastChunks.delete(id);
    } else if (history.turnOpen) {
      this.fail(`${id}: a turn starts at ${record.seq}, and the one before has not ended`);
    } else if (record.cause === "wake" && record.wake !== undefined) {
      if (this.wakes.has(record.wake)) this.fail(`${id}: was woken twice with ${record.wake}`);
      this.wakes.set(record.wake, id);
    }
    this.#turnBegins(history, true);
  }

  /** What an agent said in a process that was presumed dead meanwhile may never be stored. */
  agentEnds(process: string, id: string, chunk: number): void {
    const { writers = [] } = this.tasks.get(id) ?? {};
    if ((writers.at(-1) ?? process) === process) this.lastChunks.set(id, chunk);
  }

  #turnEnds(history: TaskHistory): void {
    this.#noteChunk(history);
    this.#turnBegins(history, false);
  }

  #turnBegins(history: TaskHistory, open: boolean): void {
    history.turnOpen = open;
    history.chunk = -1;
    history.takenInTurn = [];
  }

  // Everything an agent said before it returned is stored, and everything taken for it was delivered to it.
  #noteChunk({ id, chunk, states, takenInTurn }: TaskHistory): void {
    const lastChunk = this.lastChunks.get(id);
    this.lastChunks.delete(id);
    const state = states.at(-1);
    if (lastChunk === undefined || state === TaskState.CANCELED || state === TaskState.FAILED) return;
    if (lastChunk !== chunk) this.fail(`${id}: the agent said ${lastChunk}, stored was ${chunk}`);
    const unheard = takenInTurn.slice(1).find((messageId) => !this.received.has(messageId));
    if (unheard !== undefined) this.fail(`${id}: message ${unheard} was taken for nobody`);
  }

  #event(history: TaskHistory, { event }: LogRecord & { readonly kind: "event" }): void {
    if (event.payload.case === "artifactUpdate") return this.#chunk(history, event.payload.value);
    if (event.payload.case !== "statusUpdate") return;
    const { status } = event.payload.value;
    const time = Number(status?.timestamp?.seconds ?? 0) * 1000 + (status?.timestamp?.nanos ?? 0) / 1e6;
    if (time < history.statusTime) this.fail(`${history.id}: the time of a status runs backwards`);
    history.statusTime = time;
    history.states[history.states.length - 1] = status?.state ?? TaskState.UNSPECIFIED;
  }

  #chunk(history: TaskHistory, { artifact }: TaskArtifactUpdateEvent): void {
    const [step = 0, index = 0] = `${artifact?.parts[0]?.content.value}`.split(/[.;]/).map(Number);
    const chunk = step * 1000 + index;
    if (chunk <= history.chunk) this.fail(`${history.id}: chunk ${chunk} was stored behind chunk ${history.chunk}`);
    if (Number.isFinite(chunk)) history.chunk = chunk;
  }

  #message(history: TaskHistory, { entry, message, seq }: LogRecord & { readonly kind: "message" }): void {
    const { id } = history;
    if (this.#withdrawn.has(entry)) this.fail(`${id}: a message was withdrawn and taken as well`);
    if (this.receipts.has(message.messageId)) this.fail(`${id}: message ${message.messageId} was taken twice`);
    history.takenInTurn.push(message.messageId);
    this.receipts.set(message.messageId, { task: id, seq, entry });
  }
}
