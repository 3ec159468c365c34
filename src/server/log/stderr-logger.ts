import { noop } from "../../protocol/async/noop.js";
import { type Logger, silentLogger } from "../../protocol/logger.js";
import { jsonText, type LogEntry, terminalText } from "./record-text.js";

/** The least level of records that are written. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** The environment variable with the level of the default logger. */
export const levelVariable = "TRIVIUM_LOG";

/** Where a logger writes, and how. */
export interface LogOutput {
  write(text: string): void;
  /** Whether a person reads it. */
  readonly isTerminal: boolean;
  readonly colors: boolean;
}

/** Returns the logger that the option `logger` means: `undefined` is the default one, on stderr; `false` is none. */
export function resolveLogger(option: Logger | false | undefined): Logger {
  if (option === false) return silentLogger;
  return option ?? stderrLogger(readLevel());
}

/**
 * A logger that writes records of level `least` or higher to stderr: readable on a terminal, else lines of JSON. Silent
 * in runtimes without a stderr.
 */
export function stderrLogger(least: LogLevel): Logger {
  const { stderr } = globalThis.process ?? {};
  return least === "silent" || stderr === undefined ? silentLogger : createLogger(least, outputTo(stderr));
}

/** A logger that writes records of level `least` or higher to an output. */
export function createLogger(least: LogLevel, { write, isTerminal, colors }: LogOutput): Logger {
  const text = isTerminal ? (entry: LogEntry): string => terminalText(entry, colors) : jsonText;
  const createWrite = (level: keyof Logger): Logger["info"] => {
    if (logLevels.indexOf(level) < logLevels.indexOf(least)) return noop;
    return (fields, message) => {
      const entry = { level, time: Date.now(), fields, message: String(message ?? "") };
      write(formatEntry(text, entry));
    };
  };
  return {
    debug: createWrite("debug"),
    info: createWrite("info"),
    warn: createWrite("warn"),
    error: createWrite("error"),
  };
}

/** A record must not fail what it is about, whatever a getter in its fields does. */
function formatEntry(text: (entry: LogEntry) => string, entry: LogEntry): string {
  try {
    return text(entry);
  } catch (err) {
    return text({ ...entry, fields: { unreadable: String(err) } });
  }
}

/** How a stream is written to, by the conventions for `NO_COLOR` and `FORCE_COLOR`. */
export function outputForm(isTTY: boolean, variable: (name: string) => string | undefined): Omit<LogOutput, "write"> {
  const force = variable("FORCE_COLOR") ?? "";
  if (force !== "" && force !== "0" && force !== "false") return { isTerminal: true, colors: true };
  const isPlain = force !== "" || (variable("NO_COLOR") ?? "") !== "" || variable("TERM") === "dumb";
  return { isTerminal: isTTY, colors: isTTY && !isPlain };
}

let output: LogOutput | undefined;

function outputTo(stderr: NodeJS.WriteStream): LogOutput {
  if (output === undefined) {
    // The server outlives the reader of its log.
    stderr.on("error", noop);
    output = { ...outputForm(stderr.isTTY === true, environment), write: (text) => void stderr.write(text) };
  }
  return output;
}

let isLevelReported = false;

function readLevel(): LogLevel {
  const value = environment(levelVariable) ?? "";
  const level = logLevels.find((name) => name === value.toLowerCase());
  if (level !== undefined || value === "") return level ?? "info";
  if (!isLevelReported) {
    isLevelReported = true;
    const fields = { value, allowed: logLevels };
    stderrLogger("info").warn(fields, `${levelVariable} has no such level, records from "info" on are written`);
  }
  return "info";
}

/** Reads a variable. Deno refuses without `--allow-env`. */
function environment(name: string): string | undefined {
  try {
    return process.env[name];
  } catch {
    return undefined;
  }
}
