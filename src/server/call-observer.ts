import { CallMeter } from "../binding/call-meter.js";
import type { CallObserver, EndedCall } from "../binding/service.js";
import { type Clock, monotonic } from "../protocol/async/clock.js";
import { omitUndefined } from "../protocol/defaults.js";
import type { Logger } from "../protocol/logger.js";
import type { CallTelemetry } from "../protocol/telemetry/follow.js";

/** Who observes calls, and with which clock. */
export interface Observation {
  /** Writes one record for each call when it has ended. */
  readonly logger: Logger | undefined;
  readonly telemetry: CallTelemetry | undefined;
  readonly clock: Clock;
}

/** Observes calls. */
export function createCallObserver({ logger, telemetry, clock }: Observation): CallObserver {
  const measureAge = ({ startMs }: CallMeter): number => monotonic(clock) - startMs;
  return {
    begin: () => new CallMeter(monotonic(clock)),
    ...(telemetry && { trace: (call, meter) => telemetry.begin(call, () => measureAge(meter)) }),
    end(call) {
      const { requestId, meter } = call;
      const { trace, code, error, events } = meter;
      const durationMs = measureAge(meter);
      const write = (): void => logger?.info(accessRecord(call, durationMs), "call");
      if (trace === undefined) return write();
      if (logger !== undefined) trace.run(write);
      trace.end({ code, error, durationMs, requestId, events });
    },
  };
}

function accessRecord(call: EndedCall, durationMs: number): object {
  const { requestId, binding, operation, version, principal, meter } = call;
  const { code, requestBytes, replyBytes, events } = meter;
  const { owner, tenant } = principal ?? {};
  return omitUndefined({
    requestId,
    operation: operation?.method,
    binding,
    version,
    owner,
    tenant,
    code,
    durationMs: Math.round(durationMs * 10) / 10,
    requestBytes,
    replyBytes,
    events,
  });
}
