import type { Logger } from "../protocol/logger.js";
import type { OpenTelemetry } from "./api.js";

/**
 * Adds the trace and the span in which a record is written, by the names that OpenTelemetry has for logs. The span gets the
 * reference of a record, by which a caller names it.
 */
export function tracedLogger({ trace, isSpanContextValid }: OpenTelemetry, logger: Logger): Logger {
  const placed = (fields: object): object => {
    const span = trace.getActiveSpan();
    const here = span?.spanContext();
    if (span === undefined || here === undefined || !isSpanContextValid(here)) return fields;
    if ("reference" in fields) span.setAttribute("trivium.error.reference", String(fields.reference));
    const { traceId: trace_id, spanId: span_id, traceFlags } = here;
    const said = fields instanceof Error ? { err: fields } : fields;
    return { ...said, trace_id, span_id, trace_flags: `0${traceFlags & 1}` };
  };
  return {
    debug: (fields, message) => logger.debug(placed(fields), message),
    info: (fields, message) => logger.info(placed(fields), message),
    warn: (fields, message) => logger.warn(placed(fields), message),
    error: (fields, message) => logger.error(placed(fields), message),
  };
}
