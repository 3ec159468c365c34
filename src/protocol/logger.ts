import { noop } from "./async/noop.js";

/**
 * Receives what callers must not see. Any logger in the style of pino or `console` fits. An error is the member `err` of
 * the fields, where pino looks for it.
 */
export interface Logger {
  /** Details for finding faults. */
  debug(fields: object, message: string): void;
  /** What happens in ordinary operation. */
  info(fields: object, message: string): void;
  /** What an operator should look at, although nothing is lost. */
  warn(fields: object, message: string): void;
  /** What failed and needs an operator. */
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
