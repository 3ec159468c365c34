import { equals } from "@bufbuild/protobuf";
import { type Message, type Part, PartSchema, Role, type Task, type TaskStatus } from "../../protocol/model.js";
import type { NormalEvent } from "../task/normalize.js";
import type { TurnStart } from "../turn-start.js";

// A turn that runs again repeats what it did, and so its questions. The caller must not be asked twice, and an answer that an
// earlier run took must not be taken for that of another question. So each question is compared with the history first,
// then with the one the task waits at:
//
//   the history has it, with its answer        ──▶ the agent gets that answer, and no event is emitted
//   it is the one at which the task waits      ──▶ no event is emitted, and the agent waits for the inbox
//   neither                                    ──▶ it is asked
//
// What the agent skips this time is given up: only later exchanges are looked at from then on.

/** A question with its answer. */
interface AnsweredQuestion {
  readonly question: Message;
  readonly answer: Message;
}

interface QuestionOptions {
  readonly takesWakes: boolean;
  readonly isSilent: boolean;
}

/**
 * Questions of a turn that is re-run. What an earlier run asked is not asked again, so that each answer reaches its own
 * question.
 */
export class EarlierQuestions {
  readonly #status: TaskStatus | undefined;
  /** Those that the agent has not repeated yet, oldest first. */
  #answered: readonly AnsweredQuestion[];
  /** Kind of the entry in the inbox for the question at which the turn waited, until the agent repeats it. */
  #answeredBy: TurnStart["answeredBy"];

  /** `before`: the task as of the start of this run. */
  constructor({ send, answeredBy }: TurnStart, before: Task | undefined) {
    this.#status = before?.status;
    this.#answered = findAnsweredQuestions(before?.history ?? [], send.message.messageId);
    this.#answeredBy = answeredBy;
  }

  /**
   * The answer that an earlier run took; `"waiting"` when the question is asked already. A wake answers only a question that
   * `takesWakes`; any other waits on, but not with another state (`isSilent`: this run has emitted nothing).
   */
  find(normal: NormalEvent, { takesWakes, isSilent }: QuestionOptions): Message | "waiting" | undefined {
    const status = readStatus(normal);
    if (status === undefined) return undefined;
    const at = this.#answered.findIndex(({ question }) => isSame(question.parts, readParts(status)));
    const answer = this.#answered[at]?.answer;
    this.#answered = this.#answered.slice(at + 1);
    if (answer !== undefined) return answer;
    const isKnown = this.#answeredBy === "message" || (this.#answeredBy === "wake" && (takesWakes || isSilent));
    this.#answeredBy = undefined;
    // The page of an authorization may have another URL in each run.
    const isAsked = takesWakes ? status.state === this.#status?.state : asksTheSame(status, this.#status);
    return isKnown && isAsked ? "waiting" : undefined;
  }
}

/** The questions and answers since the message that started the turn. */
function findAnsweredQuestions(history: readonly Message[], startId: string): readonly AnsweredQuestion[] {
  const first = history.findLastIndex(({ role, messageId }) => role === Role.USER && messageId === startId);
  if (first < 0) return [];
  return history.slice(first + 1).flatMap((question, at, messages) => {
    const answer = messages[at + 1];
    return question.role === Role.AGENT && answer?.role === Role.USER ? [{ question, answer }] : [];
  });
}

function readStatus(normal: NormalEvent): TaskStatus | undefined {
  if (normal.kind !== "status" || normal.event.payload.case !== "statusUpdate") return undefined;
  return normal.event.payload.value.status;
}

/** Whether two statuses ask the same. The ids of their messages differ. */
function asksTheSame(status: TaskStatus, before: TaskStatus | undefined): boolean {
  return status.state === before?.state && isSame(readParts(status), readParts(before));
}

function readParts(status: TaskStatus): readonly Part[] {
  return status.message?.parts ?? [];
}

function isSame(parts: readonly Part[], before: readonly Part[]): boolean {
  if (parts.length !== before.length) return false;
  return parts.every((part, at) => {
    const other = before[at];
    return other !== undefined && equals(PartSchema, part, other);
  });
}
