import { CallMeter } from "../../binding/call-meter.js";
import type { Service } from "../../binding/service.js";
import { createTransport } from "../../binding/transport.js";
import { type Clock, monotonic } from "../../protocol/async/clock.js";
import { A2AError } from "../../protocol/errors.js";
import { newId } from "../../protocol/id/new-id.js";
import type { Logger } from "../../protocol/logger.js";
import { type AdmissionOptions, createAdmission } from "../admission.js";
import type { CallerGuard } from "../caller-guard.js";
import type { HostProcess } from "../host-process.js";
import type { Limits } from "../limits.js";

export interface FrontOptions {
  readonly process: HostProcess;
  /** The authentication that the agents share. */
  readonly callerGuard: CallerGuard;
  /** Counts calls for their address. */
  readonly arrivals: Service["rates"];
  /** Observes the calls that end before their agent is known. Absent when nothing does. */
  readonly observer: Service["observer"];
  /** Distinguishes callers that nothing authenticates. */
  readonly networkOf: AdmissionOptions["networkOf"];
  readonly limits: Limits;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The service of gRPC calls until their request names an agent: it authenticates and admits them for all agents. Version,
 * extensions and everything else are up to the agent.
 */
export function frontService({
  process,
  callerGuard,
  arrivals,
  observer,
  networkOf,
  limits,
  clock,
  logger,
}: FrontOptions): Service {
  const admission = createAdmission({
    ...{ process: process.admission, networkOf, limits, logger, extensions: [] },
    identify: callerGuard.identify,
    newId: () => newId(clock.now()),
  });
  const refuse = (): never => {
    throw new A2AError("internalError", "the call has no agent yet");
  };
  return {
    handler: createTransport({ unary: refuse, stream: refuse }),
    limits,
    versions: [],
    strictVersions: false,
    taskNames: { find: async () => undefined },
    authenticate: admission.authenticate,
    extensions: (requested) => requested,
    enter: admission.enter,
    publicError: admission.publicError,
    rates: arrivals,
    clock,
    // The agent of a call that has found it decides whether it is logged.
    observer: observer ?? { begin: () => new CallMeter(monotonic(clock)), end() {} },
  };
}
