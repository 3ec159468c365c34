import { once } from "node:events";
import type { JsonValue } from "@bufbuild/protobuf";

// Everything that a command prints may hold text of an agent. A terminal would obey control characters in it: they set its
// title, fill the clipboard, or hide lines. Files and pipes get stdout as it is.

/** Writes control characters as escapes, those of JSON, except line breaks and tabs. */
function printable(text: string): string {
  return text.replace(/\r\n|(?![\n\t])\p{Cc}/gu, (found) => (found === "\r\n" ? "\n" : escaped(found)));
}

function escaped(char: string): string {
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
