import { inspect } from "node:util";
import type { Logger } from "../protocol/logger.js";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

type Write = Logger["info"];

/** A logger that writes each record of level `least` or higher to stderr, as one line of JSON in pino's format. */
export function stderrLogger(least: LogLevel): Logger {
  // The server outlives the reader of its log.
  process.stderr.on("error", () => {});
  const write = (level: keyof Logger): Write => {
    const rank = logLevels.indexOf(level);
    if (rank < logLevels.indexOf(least)) return () => {};
    return (fields, msg) => {
      process.stderr.write(`${lineOf({ level: (rank + 1) * 10, time: Date.now() }, fields, msg)}\n`);
    };
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function lineOf(head: object, fields: object, msg: string): string {
  try {
    return JSON.stringify({ ...head, ...fields, msg }, withErrors);
  } catch {
    // JSON cannot express the fields, for example because of a cycle.
    return JSON.stringify({ ...head, fields: inspect(fields), msg });
  }
}

function withErrors(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  const { message, stack, cause } = value;
  const errors = value instanceof AggregateError ? value.errors : undefined;
  const own: object = value;
  return { type: value.constructor.name, message, stack, ...own, cause, errors };
}
