import { noop } from "./async/noop.js";
/** Receives what callers must not see. Any logger in the style of pino or `console` fits. */
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

/** Returns a logger that adds the same fields to every record. */
export function withFields(logger: Logger, fields: object): Logger {
  return {
    debug: (more, message) => logger.debug({ ...fields, ...more }, message),
    info: (more, message) => logger.info({ ...fields, ...more }, message),
    warn: (more, message) => logger.warn({ ...fields, ...more }, message),
    error: (more, message) => logger.error({ ...fields, ...more }, message),
  };
}
