import { isDeepStrictEqual } from "node:util";
import { toBinary } from "@bufbuild/protobuf";
import { parseEventId } from "../../../src/core/task/event-id.js";
import { StreamResponseSchema, TaskState } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { endsBlockingSend, isInterrupted, isTerminal } from "../../../src/protocol/states.js";
import { responseUnderName } from "../../../src/protocol/task-names.js";
import { digestOf, shortDigestOf } from "./digest.js";
import type { Journal, TaskHistory } from "./journal.js";

/** What a follower may expect of its stream. */
export interface FollowerOptions {
  /** Id of the sent message, whose stream ends with the answer. */
  readonly messageId?: string | undefined;
  /** The caller's name for the task. */
  readonly name?: string | undefined;
  readonly withoutHistory?: boolean | undefined;
  /** Logs may be compacted; then a new snapshot replaces the missed events. */
  readonly snapshotsAgain: boolean;
}

/** The operation that opened a stream; `attached`: a send resumed with an event id. */
type Way = "send" | "subscription" | "attached";

/**
 * Checks what one subscriber receives against the log: a snapshot as of its position, then every later event in order,
 * exactly once, also across resumed streams.
 */
export class Follower {
  taskId = "";
  /** Number of the last record seen; 0 before the first item. */
  position = 0;
  lastId: string | undefined;
  /** A message was the whole answer. */
  replied = false;
  readonly #journal: Journal;
  readonly #options: FollowerOptions;
  #way: Way;
  #beganAt = 0;

  constructor(journal: Journal, options: FollowerOptions) {
    this.#journal = journal;
    this.#options = options;
    this.#way = options.messageId === undefined ? "subscription" : "send";
  }

  /** Resumes after the last id with another stream. */
  again(way: Way): void {
    this.#way = way;
    this.#beganAt = this.position;
  }

  see({ response, id }: StreamItem): void {
    const { payload } = response;
    if (payload.case === "message") {
      if (this.position > 0) this.#fail("a message in the midst of a stream");
      this.replied = true;
      return;
    }
    const position = id === undefined ? undefined : parseEventId(id);
    if (position === undefined) return this.#fail("an event without an id");
    const history = this.#journal.tasks.get(position.taskId);
    if (history === undefined) return this.#fail(`task ${position.taskId} was shown and never stored`);
    if (this.taskId !== "" && this.taskId !== history.id) return this.#fail(`an event of ${history.id}`);
    this.taskId = history.id;
    this.lastId = id;
    if (payload.case === "task") this.#snapshot(history, position.seq, payload.value);
    else this.#event(history, position.seq, response);
    this.position = position.seq;
    this.#journal.show(history.id, position.seq);
  }

  /** The stream ended by itself. */
  ended(): void {
    if (this.replied) return;
    const history = this.#journal.tasks.get(this.taskId);
    if (history === undefined) return this.#fail("the stream ended without an item");
    const next = this.#journal.eventAfter(history, this.position);
    const end = this.#endOf(history);
    // A send resumed after its answer ends when nothing is running.
    const rests = isInterrupted(history.states[this.position] ?? TaskState.UNSPECIFIED);
    if (this.#way === "attached" && (end === undefined || rests)) return;
    if (end === undefined) return this.#fail(`the stream ended at ${this.position}, where nothing ends`);
    if (next !== undefined && next.seq <= end)
      this.#fail(`the stream ended at ${this.position}, before event ${next.seq}`);
    if (this.position > end && this.position > this.#beganAt) {
      this.#fail(`the stream went on to ${this.position} behind its end at ${end}`);
    }
  }

  // The record that must end the stream; `undefined` if there is none yet.
  #endOf({ records, states }: TaskHistory): number | undefined {
    const takenSeq = this.#journal.receipts.get(this.#options.messageId ?? "")?.seq;
    const from = { send: takenSeq, attached: this.#beganAt, subscription: undefined }[this.#way];
    // A later turn may continue a parked task; what it refuses is another message.
    let isOwn = true;
    for (let seq = (from ?? 0) + 1; seq <= records.length; seq++) {
      const record = records[seq - 1];
      if (record?.kind === "turnStarted" && record.cause !== "restart") isOwn = false;
      if (record?.kind === "turnEnded" && record.error !== undefined && !isOwn) continue;
      const state = states[seq] ?? TaskState.UNSPECIFIED;
      if (record?.kind === "turnEnded" && from !== undefined) return seq;
      if (record?.kind !== "event" || record.event.payload.case !== "statusUpdate") continue;
      if (isTerminal(state)) return seq;
      if (from !== undefined && endsBlockingSend(state) && state !== TaskState.AUTH_REQUIRED) return seq;
    }
    return undefined;
  }

  #snapshot(history: TaskHistory, seq: number, task: Parameters<typeof digestOf>[0]): void {
    if (this.position > 0 && !this.#options.snapshotsAgain)
      this.#fail(`a second snapshot, at ${seq} after ${this.position}`);
    if (seq < this.position) this.#fail(`a snapshot at ${seq}, ${this.position} was seen`);
    const digest = history.digests[seq];
    const same =
      this.#options.withoutHistory === true
        ? digestMatchesShort(digest, shortDigestOf(task))
        : digest === digestOf(task);
    if (!same) this.#fail(`the snapshot at ${seq} is not what was stored`);
    this.#beganAt = seq;
  }

  #event(history: TaskHistory, seq: number, response: StreamItem["response"]): void {
    if (this.position === 0) this.#fail("a stream that begins with no snapshot");
    const expected = this.#journal.eventAfter(history, this.position);
    if (expected === undefined) this.#fail(`event ${seq} was shown and never stored`);
    else if (expected.seq !== seq) this.#fail(`event ${seq} after ${this.position}, where ${expected.seq} follows`);
    else if (!this.#isShown(expected.event, response)) this.#fail(`event ${seq} is not the one that was stored`);
  }

  // Must be the very event that was stored or, for callers that use a name, an equal one with the name in it.
  #isShown(original: StreamItem["response"], shown: StreamItem["response"]): boolean {
    const { name } = this.#options;
    if (name === undefined && this.#journal.isEncoded) return isDeepStrictEqual(plain(original), plain(shown));
    return name === undefined ? original === shown : isDeepStrictEqual(responseUnderName(original, name), shown);
  }

  #fail(text: string): void {
    this.#journal.fail(`${this.taskId} for ${this.#options.messageId ?? "a subscriber"}: ${text}`);
  }
}

const plain = (event: StreamItem["response"]): Uint8Array => toBinary(StreamResponseSchema, event);

/** Whether a full digest matches one of a task shown without its history. */
export function digestMatchesShort(whole: string | undefined, short: string): boolean {
  const [status, , ...artifacts] = whole?.split("|") ?? [];
  return [status, ...artifacts].join("|") === short;
}
