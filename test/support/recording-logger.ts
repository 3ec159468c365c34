import type { Logger } from "../../src/protocol/logger.js";

/** One logged line. */
export interface LogLine {
  readonly level: keyof Logger;
  readonly fields: object;
  readonly message: string | undefined;
}

/** A logger that keeps its lines. */
export function recordingLogger(): { readonly log: LogLine[]; readonly logger: Logger } {
  const log: LogLine[] = [];
  const to = (level: keyof Logger) => (fields: object, message?: string) => void log.push({ level, fields, message });
  return { log, logger: { debug: to("debug"), info: to("info"), warn: to("warn"), error: to("error") } };
}
