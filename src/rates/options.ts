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
   * Bytes of requests as they are sent. Once a window's are used up, calls are refused; the request that reaches the
   * limit is still served. Default: no limit.
   */
  readonly bytes?: Rates | undefined;
  /** Streams that are open at once in this process. Default: no limit. */
  readonly streams?: number | undefined;
}

/** Limits of calls, and of the tasks that they start. */
export interface TurnLimits extends CallLimits {
  /**
   * Messages that name no task, each of which starts one. A repeat that attaches to its task does not count. Default:
   * no limit.
   */
  readonly tasks?: Rates | undefined;
  /** Turns that calls have started and that run at once in this process. Default: no limit. */
  readonly turns?: number | undefined;
}

/** Limits of calls and tasks, and a budget that the agent charges. */
export interface BudgetLimits extends TurnLimits {
  /**
   * Tokens that the agent charges by `turn.charge`. Once a window's are used up, new tasks are refused. Default: no
   * limit.
   */
  readonly tokens?: Rates | undefined;
}

/** Limits of callers. Each caller has its own count of each limit. */
export interface CallerLimits<L extends CallLimits, Address = L> {
  /** For each owner. Needs `auth` or `authenticate`. Default: no limit. */
  readonly owner?: L | undefined;
  /** For each tenant, its owners together. Default: no limit. */
  readonly tenant?: L | undefined;
  /** For each address; an IPv6 network of 64 bits is one. In-process calls have none. Default: no limit. */
  readonly address?: Address | undefined;
  /** For all callers together. Default: no limit. */
  readonly all?: L | undefined;
}

/** Limits of callers: in all, for single operations, and for messages to single skills. */
export interface RateOptions extends CallerLimits<BudgetLimits, TurnLimits> {
  /** More limits for calls of an operation. Default: none. */
  readonly operations?: { readonly [K in OperationName]?: CallerLimits<CallLimits> | undefined } | undefined;
  /** More limits for messages to a skill of the card, by its id. Default: none. */
  readonly skills?: Readonly<Record<string, CallerLimits<BudgetLimits, TurnLimits>>> | undefined;
  /** The skill that a message is for. Default: that of `auth`, else the string `skillId` of its metadata. */
  readonly skillOf?: ((message: Message) => string | undefined) | undefined;
  /**
   * Failed attempts to authenticate from one address; `false`: any number. Beyond it, calls from there are refused
   * before their credentials are checked, except with credentials that were accepted in the last ten windows. Checks
   * under way count as if they failed. Default: `"300/minute"` with `auth` and `authenticate`.
   */
  readonly failedAttempts?: Rate | false | undefined;
}
