import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import {
  anyObject,
  assertOptions,
  entries,
  flag,
  type MembersOf,
  object,
  type Rule,
  record,
  string,
  text,
  withMethods,
} from "../protocol/check/rules.js";
import type { CallOptions } from "../protocol/context.js";
import type { SendMessageConfigurationSchema } from "../protocol/model.js";
import type { StateName } from "../protocol/states.js";

/** The conversation that a message continues: an `Answer`, or its stored ids. */
export interface Continuation {
  /** The task that gets the message. Default: a new one in the context. */
  readonly taskId?: string | undefined;
  /** The context. `""`, from an agent that names none, continues nothing. */
  readonly contextId: string;
  /** The state of the task. If it has ended, a new task starts in its context. Default: the task has not ended. */
  readonly state?: StateName | "message" | undefined;
}

/** Options of a call about one task. */
export interface TaskCallOptions extends CallOptions {
  /** Tenant of the call. Default: the tenant of the interface in the card, else none. */
  readonly tenant?: string | undefined;
}

/** Options of a message. */
export interface SendOptions extends TaskCallOptions {
  /**
   * The answer to continue: its task while that is waiting or working, else its context. Default: a new conversation.
   */
  readonly continue?: Continuation | undefined;
  /**
   * Cancels the task when `signal` aborts or `timeoutMs` has passed; the call then rejects once the agent has answered
   * the cancel, or after two seconds. Use it if nobody else waits for the task, as in an agent that calls another one.
   * Default: false, and the task continues.
   */
  readonly cancelOnAbort?: boolean | undefined;
  /** Id of the message; a repeat with the same id may start nothing twice. Default: a random UUID. */
  readonly messageId?: string | undefined;
  /** Tasks that the message references. */
  readonly referenceTaskIds?: readonly string[] | undefined;
  /** Metadata of the message. */
  readonly metadata?: JsonObject | undefined;
  /**
   * Accepted output, history length, push notification and whether to return immediately (spec 3.2.2). Default: the
   * agent's defaults.
   */
  readonly configuration?: MessageInitShape<typeof SendMessageConfigurationSchema> | undefined;
}

const continuation: Rule = (value, path) => {
  const problems = anyObject(value, path);
  if (problems.length > 0) return problems;
  const { taskId, contextId } = value as Partial<Continuation>;
  if (contextId === undefined) return [`${path} has no contextId: give an answer, or the ids of one`];
  return [...string(contextId, `${path}.contextId`), ...(taskId === undefined ? [] : string(taskId, `${path}.taskId`))];
};

const rawMembers: MembersOf<CallOptions> = {
  signal: { rule: withMethods("an AbortSignal", "addEventListener", "throwIfAborted") },
  // Checked with the time that is left.
  timeoutMs: { rule: () => [] },
  headers: { rule: record(string) },
  query: { rule: record(string) },
  extensions: { rule: entries(text) },
  after: { rule: string },
};

const members: MembersOf<TaskCallOptions> = { tenant: { rule: string }, ...rawMembers };

const rawRule = object(rawMembers, { tenant: "write it in the request" });
const callRule = object(members);
const sendRule = object(
  {
    continue: { rule: continuation },
    cancelOnAbort: { rule: flag },
    messageId: { rule: text },
    referenceTaskIds: { rule: entries(text) },
    metadata: { rule: anyObject },
    configuration: { rule: anyObject },
    ...members,
  } satisfies MembersOf<SendOptions>,
  { task: "write continue: answer", contextId: "write continue: { contextId }" },
);

/** Throws a `TypeError` for options that a message cannot have. */
export function checkSendOptions(options: SendOptions): void {
  check("the options of a message", options, sendRule);
}

/** Throws a `TypeError` for options that a call cannot have. */
export function checkCallOptions(options: TaskCallOptions): void {
  check("the options of a call", options, callRule);
}

/** Throws a `TypeError` for options that one of the eleven operations cannot have. */
export function checkOperationOptions(options: CallOptions): void {
  check("the options of a call", options, rawRule);
}

function check(what: string, options: object, rule: Rule): void {
  if (Object.keys(options).length > 0) assertOptions(what, options, rule);
}
