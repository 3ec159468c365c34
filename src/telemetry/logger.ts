import type { Logger } from "../protocol/logger.js";
import type { OpenTelemetry } from "./api.js";

/**
 * Adds the current trace and span to each record, by OpenTelemetry's names for logs. The span gets the reference of the
 * record, which the caller has in its error.
 */
export function tracedLogger({ trace, isSpanContextValid }: OpenTelemetry, logger: Logger): Logger {
  const withTrace = (fields: object): object => {
    const span = trace.getActiveSpan();
    const spanContext = span?.spanContext();
    if (span === undefined || spanContext === undefined || !isSpanContextValid(spanContext)) return fields;
    if ("reference" in fields) span.setAttribute("trivium.error.reference", String(fields.reference));
    const { traceId: trace_id, spanId: span_id, traceFlags } = spanContext;
    const record = fields instanceof Error ? { err: fields } : fields;
    return { ...record, trace_id, span_id, trace_flags: `0${traceFlags & 1}` };
  };
  return {
    debug: (fields, message) => logger.debug(withTrace(fields), message),
    info: (fields, message) => logger.info(withTrace(fields), message),
    warn: (fields, message) => logger.warn(withTrace(fields), message),
    error: (fields, message) => logger.error(withTrace(fields), message),
  };
}
