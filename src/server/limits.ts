import { defaultListenerLimits, type ListenerLimits } from "../binding/listen/connection.js";
import type { BindingLimits } from "../binding/service.js";
import { type CoreLimits, defaultCoreLimits } from "../core/limits.js";
import { defaultValidationLimits, type ValidationLimits } from "../protocol/validation-limits.js";
import { defaultPushLimits, type PushLimits } from "../push/limits.js";
import { defaultOverloadLimits, type OverloadLimits } from "./overload/limits.js";

/** Admission limits, shared by all calls of the process. */
export interface AdmissionLimits extends BindingLimits {
  /**
   * Bytes of requests that are not decoded yet, and of large replies and events that are not taken yet, in a gateway also
   * of what the agent answers; beyond it calls are `unavailable`. Small replies that an HTTP/2 peer does not take count for
   * its address, and beyond it their streams end (`CANCEL`) and calls are refused for a moment. One caller may hold half of what the others leave;
   * without `authenticate`, callers are distinguished by address: the one that proxies in `trustProxy` report, and
   * networks of 64 bits in IPv6. Default: 256 MiB.
   */
  readonly inFlightMaxBytes: number;
  /** Open streams of one principal. Without `authenticate` only the process limit applies. Default: 1,000. */
  readonly streamsPerPrincipal: number;
  /** Open streams of the process. Default: 20,000. */
  readonly streamsPerProcess: number;
}

/** Every limit of a server. See docs/reference/limits.md. */
export type Limits = AdmissionLimits & OverloadLimits & ListenerLimits & CoreLimits & PushLimits & ValidationLimits;

/** The defaults of `Limits`. */
export const defaultLimits: Limits = {
  ...defaultListenerLimits,
  ...defaultCoreLimits,
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

/**
 * Fills in the defaults. Where callers cannot be distinguished, all are one owner and only the process limits apply.
 */
export function resolveLimits(options: Partial<Limits> = {}, tellsApart = true): Limits {
  const givenLimits = Object.entries(options).filter(([, value]) => value !== undefined);
  const limits = { ...defaultLimits, ...(Object.fromEntries(givenLimits) as Partial<Limits>) };
  if (tellsApart) return limits;
  const {
    turnsPerOwner = limits.turnsPerProcess,
    streamsPerPrincipal = limits.streamsPerProcess,
    pushCallsPerOwner = limits.pushCallsAtOnce,
    tasksPerOwner = Number.POSITIVE_INFINITY,
    readsPerOwner = Number.POSITIVE_INFINITY,
    conversationEntriesPerOwner = Number.POSITIVE_INFINITY,
    conversationOwnerMaxBytes = Number.POSITIVE_INFINITY,
  } = options;
  return {
    ...{ ...limits, turnsPerOwner, streamsPerPrincipal, pushCallsPerOwner, tasksPerOwner, readsPerOwner },
    ...{ conversationEntriesPerOwner, conversationOwnerMaxBytes },
  };
}

/** The limits of a whole server, which its agents cannot have each for itself. */
export const processLimits: ReadonlySet<string> = new Set([
  ...Object.keys(defaultListenerLimits),
  ...["inFlightMaxBytes", "heartbeatMs", "instanceTtlMs", "pollMs", "storeAwayMs"],
]);
