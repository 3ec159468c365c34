import { CallMeter } from "../binding/call-meter.js";
import type { AccessLog } from "../binding/service.js";
import { type Clock, monotonic } from "../protocol/async/clock.js";
import type { Logger } from "../protocol/logger.js";

/** Writes one record for each call when it has ended. */
export function createAccessLog(logger: Logger, clock: Clock): AccessLog {
  return {
    begun: () => new CallMeter(monotonic(clock)),
    ended({ requestId, binding, operation, version, principal, meter }) {
      const { begunMs, code, requestBytes, replyBytes, events } = meter;
      const { owner, tenant } = principal ?? {};
      const fields = {
        ...{ requestId, operation: operation?.method, binding, version, owner, tenant, code },
        durationMs: Math.round((monotonic(clock) - begunMs) * 10) / 10,
        ...{ requestBytes, replyBytes, events },
      };
      logger.info(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)), "call");
    },
  };
}
