import { once } from "node:events";
import type { JsonValue } from "@bufbuild/protobuf";

// Everything that a command prints may contain text of an agent. Control characters in it could set the title of a terminal,
// fill the clipboard, or hide lines. Files and pipes get stdout unchanged.

/** Replaces control characters by the escapes of JSON, except line breaks and tabs. */
function printable(text: string): string {
  return text.replace(/\r\n|(?![\n\t])\p{Cc}/gu, (match) => (match === "\r\n" ? "\n" : escapeChar(match)));
}

function escapeChar(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
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
