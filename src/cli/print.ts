import { once } from "node:events";
import type { JsonValue } from "@bufbuild/protobuf";

/** Prints a line and waits for a slow reader. */
export async function print(line: string): Promise<void> {
  if (!process.stdout.write(`${line}\n`)) await once(process.stdout, "drain");
}

/** Prints a value on one line, or on several lines in a terminal. */
export function printJson(value: JsonValue | object): Promise<void> {
  return print(JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined));
}
