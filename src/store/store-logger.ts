import { type Logger, silentLogger } from "../protocol/logger.js";

/** The logger of a store: its own, else that of the server that opens it first. Silent before that. */
export interface StoreLogger extends Logger {
  /** The server with this logger opens the store. */
  useFallback(fallback: Logger | undefined): void;
}

/** `own`: the option `logger`; `false` for silence. */
export function createStoreLogger(own: Logger | false | undefined): StoreLogger {
  let logger = own === false ? silentLogger : own;
  const to = (level: keyof Logger): Logger["info"] => {
    return (fields, message) => (logger ?? silentLogger)[level](fields, message);
  };
  return {
    debug: to("debug"),
    info: to("info"),
    warn: to("warn"),
    error: to("error"),
    useFallback(opener) {
      logger ??= opener;
    },
  };
}
