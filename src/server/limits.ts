import { defaultListenerLimits, type ListenerLimits } from "../binding/listen/connection.js";
import type { BindingLimits } from "../binding/service.js";
import { coreLimits, defaultTaskLimits, type FixedLimits, fixedLimits, type TaskLimits } from "../core/limits.js";
import {
  type Contradiction,
  contradictionsIn,
  exceeds,
  lacks,
  type OptionPair,
} from "../protocol/check/contradictions.js";
import { duration, type Rule, wholeUpTo } from "../protocol/check/rules.js";
import { omitUndefined } from "../protocol/defaults.js";
import { shareOfHeap } from "../protocol/heap-size.js";
import { defaultValidationLimits, type ValidationLimits } from "../protocol/validation-limits.js";
import { defaultPushLimits, type PushLimits } from "../push/limits.js";
import { defaultOverloadLimits, type OverloadLimits } from "./overload/limits.js";

// Every limit of a server, joined from the rooms that apply them: connections (`binding/listen/connection.ts`),
// requests (`binding/service.ts`), tasks and turns (`core/limits.ts`), webhooks (`push/limits.ts`), content
// (`protocol/validation-limits.ts`), overload (`overload/limits.ts`), and bytes and streams of the process (here). A
// new limit is a member of one of these interfaces, with its docstring, and of the defaults beside it. Here it gets a
// rule if it is not just a number (`limitRules`; a duration needs only a name that ends with `Ms`, and
// `positiveDurations` if it may not be 0), a row of `limitPairs` if it may contradict another, and its name in
// `processLimits` if an agent cannot have it for itself. A limit per owner has `Owner` or `Principal` in its name, and
// `resolveLimits` lifts it where callers cannot be distinguished. Limits that no option changes are `FixedLimits`.

/** Admission limits, shared by all calls of the process. */
export interface AdmissionLimits extends BindingLimits {
  /**
   * Bytes of requests that are not decoded yet and of large replies and events that are not read yet; in a gateway also
   * of the agent's answers. Above it, calls are `unavailable`. Small replies that an HTTP/2 peer does not read count
   * for its address; above the limit their streams end (`CANCEL`) and calls are refused for a moment. One caller may
   * hold half of what the others leave. Without authentication, callers are distinguished by address, as reported by
   * proxies in `trustProxy`, and by /64 network in IPv6. The default is at most an eighth of the heap. Default: 256
   * MiB.
   */
  readonly inFlightMaxBytes: number;
  /** Open streams of one principal. Without `auth` or `authenticate` only the process limit applies. Default: 1,000. */
  readonly streamsPerPrincipal: number;
  /** Open streams of the process. Default: 20,000. */
  readonly streamsPerProcess: number;
}

/** Every limit of a server. See docs/reference/limits.md. */
export type Limits = AdmissionLimits & OverloadLimits & ListenerLimits & TaskLimits & PushLimits & ValidationLimits;

/** Limits under the names of 0.1. */
export interface FormerLimits {
  /** @deprecated Write `minWakeIntervalMs`. 0.3 refuses this name. */
  readonly wakePauseMs?: number | undefined;
  /** @deprecated Write `storeOutageMs`. 0.3 refuses this name. */
  readonly storeAwayMs?: number | undefined;
  /** @deprecated Write `overloadUnreadyMs`. 0.3 refuses this name. */
  readonly overloadAwayMs?: number | undefined;
  /** @deprecated Write `pushBreakerThreshold`. 0.3 refuses this name. */
  readonly pushFailuresToPause?: number | undefined;
}

/** The defaults of `Limits`. */
export const defaultLimits: Limits = {
  ...defaultListenerLimits,
  ...defaultTaskLimits,
  ...defaultPushLimits,
  ...defaultValidationLimits,
  ...defaultOverloadLimits,
  contentMaxBytes: 4 << 20,
  jsonBodyMaxBytes: 6 << 20,
  jsonMaxValues: 250_000,
  // The official Python client abandons a stream that is silent for 5 s.
  keepAliveMs: 4000,
  inFlightMaxBytes: 256 << 20,
  streamsPerPrincipal: 1000,
  streamsPerProcess: 20_000,
};

/** Durations for which less than a millisecond would be a busy loop, or would refuse every caller. */
const positiveDurations = [
  ...["headerTimeoutMs", "bodyTimeoutMs", "replyStallMs", "keepAliveIdleMs", "http2IdleMs", "keepAliveMs"],
  ...["maxConnectionAgeMs", "grpcKeepaliveMs", "grpcKeepaliveTimeoutMs", "heartbeatMs", "instanceTtlMs", "pollMs"],
  ...["pushTimeoutMs", "pushRetryMs", "taskWaitMaxMs"],
] as const satisfies readonly (keyof Limits)[];

/** Rules of single limits that are not just a number of 0 or more. */
export const limitRules: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(
    Object.keys(defaultLimits)
      .filter((name) => name.endsWith("Ms"))
      .map((name) => [name, duration(0)]),
  ),
  ...Object.fromEntries(positiveDurations.map((name) => [name, duration(1)])),
  // Node takes no other size.
  headerMaxBytes: wholeUpTo(2 ** 31 - 1),
};

/** Two limits that depend on each other. */
interface LimitPair extends OptionPair {
  readonly lower: keyof Limits;
  readonly upper: keyof Limits;
  /** By which factor the upper one exceeds the lower one when its default is too small. Default: `factor`. */
  readonly usual?: number;
  /**
   * If only the upper one is given, the lower one is this part of it. Default: it keeps its default if that is allowed.
   */
  readonly part?: number;
}

/** Limits that contradict each other are refused; a default gives way to a limit that is given. */
export const limitPairs: readonly LimitPair[] = [
  {
    lower: "heartbeatMs",
    upper: "instanceTtlMs",
    factor: 3,
    usual: 5,
    part: 5,
    why: "one late heartbeat would end the lease, and nobody could take over the tasks of a process that has died",
  },
  { lower: "pollMs", upper: "instanceTtlMs", why: "a lost hint would delay a stream for longer than a crash does" },
  { lower: "storeWaitMs", upper: "instanceTtlMs", why: "a lease could expire while a send waits for its first write" },
  { lower: "eventMaxBytes", upper: "taskMaxBytes", why: "a task could not take an event of the size that is allowed" },
  {
    lower: "contentMaxBytes",
    upper: "jsonBodyMaxBytes",
    usual: 1.5,
    why: "JSON could not carry the content that is allowed",
  },
  {
    lower: "jsonBodyMaxBytes",
    upper: "inFlightMaxBytes",
    factor: 2,
    why: "one caller may hold half of the bytes in flight, so the largest body would always be refused",
  },
  {
    lower: "contentMaxBytes",
    upper: "inFlightMaxBytes",
    factor: 2,
    why: "one caller may hold half of the bytes in flight, so the largest message would always be refused",
  },
  {
    lower: "eventMaxBytes",
    upper: "inFlightMaxBytes",
    factor: 2,
    why: "one caller may hold half of the bytes in flight, so the largest event could not be sent beside another call",
  },
  {
    lower: "taskMaxBytes",
    upper: "inFlightMaxBytes",
    factor: 2,
    why: "one caller may hold half of the bytes in flight, so the largest task could not be read beside another call",
  },
  {
    lower: "pageMaxBytes",
    upper: "inFlightMaxBytes",
    factor: 2,
    why: "one caller may hold half of the bytes in flight, so a full page of ListTasks could not be read beside another call",
  },
  {
    lower: "taskMaxBytes",
    upper: "runningMaxBytes",
    factor: 2,
    why: "one caller may hold half of the memory of running tasks, so the largest task could not run beside another",
  },
  { lower: "pushRetryMs", upper: "pushPauseMaxMs", why: "the first pause would be longer than the longest" },
  {
    lower: "contextStateMaxBytes",
    upper: "conversationOwnerMaxBytes",
    why: "the state of a context could be larger than all conversations of its owner may be",
  },
];

const limitContradictions: readonly Contradiction[] = [
  ...limitPairs.map(exceeds),
  lacks("maxConnectionAgeGraceMs", "maxConnectionAgeMs"),
];

/** How given limits contradict each other: a sentence each that says what to change. */
export function limitProblems(given: Partial<Limits>, path = "limits"): readonly string[] {
  return contradictionsIn(limitContradictions, given, path);
}

/** The defaults of the limits that are not given, adapted to those that are. */
function defaultsBeside(given: Partial<Limits>): Limits {
  const inFlightMaxBytes = Math.min(defaultLimits.inFlightMaxBytes, shareOfHeap(1 / 8));
  const adapted: Limits = { ...defaultLimits, ...coreLimits(), inFlightMaxBytes, ...given };
  const adapt = (name: keyof Limits, value: number): void => {
    Object.assign(adapted, { [name]: value });
  };
  // Twice, since a limit may be in two pairs.
  for (const { lower, upper, factor = 1, usual = factor, part } of [...limitPairs, ...limitPairs]) {
    const [less, more] = [Number(adapted[lower]), Number(adapted[upper])];
    const isTooLarge = less * factor > more;
    if (given[lower] !== undefined) {
      if (isTooLarge) adapt(upper, less * usual);
    } else if (isTooLarge || (part !== undefined && given[upper] !== undefined)) {
      adapt(lower, more / (part ?? factor));
    }
  }
  return adapted;
}

/**
 * Fills in the defaults. Where callers cannot be distinguished, all are one owner and only the process limits apply.
 * Throws a `TypeError` for limits that contradict each other.
 */
export function resolveLimits(options: Partial<Limits> = {}, identifiesCallers = true): Limits & FixedLimits {
  const givenLimits = omitUndefined(options);
  const problems = limitProblems(givenLimits);
  if (problems.length > 0) throw new TypeError(problems.join("\n"));
  const limits = { ...defaultsBeside(givenLimits), ...fixedLimits };
  if (identifiesCallers) return limits;
  const {
    turnsPerOwner = limits.turnsPerProcess,
    streamsPerPrincipal = limits.streamsPerProcess,
    pushCallsPerOwner = limits.pushCallsAtOnce,
    tasksPerOwner = Number.POSITIVE_INFINITY,
    conversationEntriesPerOwner = Number.POSITIVE_INFINITY,
    conversationOwnerMaxBytes = Number.POSITIVE_INFINITY,
  } = options;
  return {
    ...limits,
    turnsPerOwner,
    streamsPerPrincipal,
    pushCallsPerOwner,
    tasksPerOwner,
    conversationEntriesPerOwner,
    conversationOwnerMaxBytes,
    readsPerOwner: Number.POSITIVE_INFINITY,
  };
}

/** The limits of a whole server, which its agents cannot have each for itself. */
export const processLimits: ReadonlySet<string> = new Set([
  ...Object.keys(defaultListenerLimits),
  "inFlightMaxBytes",
  "runningMaxBytes",
  "runningWaitMs",
  "heartbeatMs",
  "instanceTtlMs",
  "pollMs",
  "storeOutageMs",
]);
