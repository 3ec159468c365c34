import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Part } from "../protocol/model.js";
import { file, type PartOptions } from "../protocol/parts.js";

/** Reads a file into a part with its name. The caller gives its media type. Rejects as `node:fs` does. */
export async function fileFrom(path: string, options: PartOptions = {}): Promise<Part> {
  return file(await readFile(path), { filename: basename(path), ...options });
}
