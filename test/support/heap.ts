import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** The heap in use after a full collection, buffers included, in bytes. */
export function settledHeap(): number {
  for (let pass = 0; pass < 4; pass++) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** The value of `make`, and the bytes of the heap that it takes. */
export function heapOf<T>(make: () => T): { readonly value: T; readonly bytes: number } {
  // Code that is compiled and cached on first use does not count.
  make();
  const before = settledHeap();
  const value = make();
  return { value, bytes: settledHeap() - before };
}
