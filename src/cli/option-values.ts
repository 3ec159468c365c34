import { type Command, InvalidArgumentError } from "commander";
import { readErrorMessage } from "../protocol/errors.js";

// Parsers of option values. An `InvalidArgumentError` becomes a usage error that names the option.

const unitTable: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of a duration such as `30d`, `12h`, `90m`, `45s` or `500ms`. */
export function parseDuration(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = unitTable[unit];
  if (unitMs !== undefined) return Number(count) * unitMs;
  throw new InvalidArgumentError("A time is a whole number with its unit: 30d, 12h, 90m, 45s.");
}

const sizeUnits = ["", "k", "m", "g"];

/** Parses a size such as `1000`, `500k`, `64m` or `2g` into bytes. Units are powers of 1024. */
export function parseSize(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,9})([kmg]?)$/i.exec(text) ?? [];
  if (count !== "") return Number(count) * 1024 ** sizeUnits.indexOf(unit.toLowerCase());
  throw new InvalidArgumentError("A size is a whole number of bytes, or a number with a unit: 500k, 64m, 2g.");
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError("A port is a number from 0 to 65535.");
}

/** Collects the values of an option that may be repeated. */
export function appendText(text: string, list: readonly string[] = []): readonly string[] {
  return [...list, text];
}

/** Returns what `read` returns. An error that it throws ends the command as a usage error. */
export function checkUsage<T>(command: Command, read: () => T, prefix = ""): T {
  try {
    return read();
  } catch (error) {
    return command.error(`error: ${prefix}${readErrorMessage(error)}`);
  }
}
