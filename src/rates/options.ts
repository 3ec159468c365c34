import type { Message } from "../protocol/model.js";
import type { OperationName } from "../protocol/operations.js";

/** The length of a window. */
export type RateWindow = "second" | "minute" | "hour" | "day";

/** An amount and its window: `"600/minute"`, or with a window of another length, at most 24 days. */
export type Rate = `${number}/${RateWindow}` | { readonly limit: number; readonly windowMs: number };

/** One rate, or several that all hold: `["10/second", "5000/day"]`. */
export type Rates = Rate | readonly Rate[];

/** Limits of calls. */
export interface CallLimits {
  /** Calls of operations. Default: no limit. */
  readonly requests?: Rates | undefined;
  /**
   * Request bytes, as sent. Once those of a window are used up, calls are refused; the request that reaches the limit
   * is still served. Default: no limit.
   */
  readonly bytes?: Rates | undefined;
  /** Open streams in this process. Default: no limit. */
  readonly streams?: number | undefined;
}

/** Limits of calls, and of the tasks that they start. */
export interface TurnLimits extends CallLimits {
  /**
   * Messages that start a task, because they name none. A repeat that attaches to its task does not count. Default: no
   * limit.
   */
  readonly tasks?: Rates | undefined;
  /** Concurrent turns in this process that calls have started. Default: no limit. */
  readonly turns?: number | undefined;
}

/** Limits of calls and tasks, and a token budget that the agent charges. */
export interface BudgetLimits extends TurnLimits {
  /**
   * Tokens that the agent charges with `turn.charge`. Once those of a window are used up, new tasks are refused.
   * Default: no limit.
   */
  readonly tokens?: Rates | undefined;
}

/** Limits per owner, tenant and address; each is counted separately. */
export interface CallerLimits<L extends CallLimits, Address = L> {
  /** Per owner. Needs `auth` or `authenticate`. Default: no limit. */
  readonly owner?: L | undefined;
  /** Per tenant, all its owners together. Default: no limit. */
  readonly tenant?: L | undefined;
  /** Per address; an IPv6 /64 network counts as one. In-process calls have no address. Default: no limit. */
  readonly address?: Address | undefined;
  /** All callers together. Default: no limit. */
  readonly all?: L | undefined;
}

/** Rate limits per owner, tenant and address, for all calls, per operation and per skill. */
export interface RateOptions extends CallerLimits<BudgetLimits, TurnLimits> {
  /** Additional limits for the calls of an operation. Default: none. */
  readonly operations?: { readonly [K in OperationName]?: CallerLimits<CallLimits> | undefined } | undefined;
  /** Additional limits for messages to a skill of the card, by the skill's id. Default: none. */
  readonly skills?: Readonly<Record<string, CallerLimits<BudgetLimits, TurnLimits>>> | undefined;
  /**
   * Returns the skill that a message is for. Default: `skillOf` of `auth`, else the string `skillId` in the message's
   * metadata.
   */
  readonly skillOf?: ((message: Message) => string | undefined) | undefined;
  /**
   * Failed authentications from one address; `false`: unlimited. Above it, calls from the address are refused before
   * their credentials are checked, except with credentials that were accepted in the last ten windows. Checks in
   * progress count as failed. Default: `"300/minute"` with `auth` and `authenticate`.
   */
  readonly failedAttempts?: Rate | false | undefined;
}
