import { once } from "node:events";
import type { JsonValue } from "@bufbuild/protobuf";
import { escapeChar, replaceUnseen } from "./visible-text.js";

// All output of a command may contain text of an agent. Files and pipes get stdout unchanged.

/** Replaces invisible characters by JSON escapes, except line breaks and tabs. */
export function printable(text: string): string {
  return replaceUnseen(text.replaceAll("\r\n", "\n"), (char) =>
    char === "\n" || char === "\t" ? char : escapeChar(char),
  );
}

/** Writes a text to stdout and waits for a slow reader. */
export async function write(text: string): Promise<void> {
  const { stdout } = process;
  if (!stdout.write(stdout.isTTY ? printable(text) : text)) await once(stdout, "drain");
}

/** Prints a line and waits for a slow reader. */
export function print(line: string): Promise<void> {
  return write(`${line}\n`);
}

/** Prints a value on one line, or on several lines in a terminal. */
export function printJson(value: JsonValue | object): Promise<void> {
  return print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined));
}

/** Prints lines for people on stderr. */
export function printNote(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}
