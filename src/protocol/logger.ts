import { noop } from "./async/noop.js";

/**
 * Receives log records, which may have details that callers must not see. pino and `console` fit, and so does any
 * logger with these methods. An error is in the field `err`, as in pino.
 */
export interface Logger {
  /** Details for debugging. */
  debug(fields: object, message: string): void;
  /** Normal operation. */
  info(fields: object, message: string): void;
  /** Needs an operator's attention, although nothing is lost. */
  warn(fields: object, message: string): void;
  /** Failures that need an operator. */
  error(fields: object, message: string): void;
}

/** A logger that discards everything. */
export const silentLogger: Logger = { debug: noop, info: noop, warn: noop, error: noop };

/** Returns a logger that adds the same fields to every record. An error in place of the fields becomes `err`. */
export function withFields(logger: Logger, fields: object): Logger {
  const join = (more: object): object => ({ ...fields, ...(more instanceof Error ? { err: more } : more) });
  return {
    debug: (more, message) => logger.debug(join(more), message),
    info: (more, message) => logger.info(join(more), message),
    warn: (more, message) => logger.warn(join(more), message),
    error: (more, message) => logger.error(join(more), message),
  };
}
