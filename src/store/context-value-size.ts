import type { ContextValue } from "../core/ports.js";

/** Size of a value of a context's state with its name, in UTF-8 bytes, as its limit counts it. */
export function sizeOfContextValue(name: string, { json }: Pick<ContextValue, "json">): number {
  return Buffer.byteLength(name) + Buffer.byteLength(json);
}
