import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** The heap in use, buffers included, after everything that nobody holds was collected, in bytes. */
export function settledHeap(): number {
  for (let pass = 0; pass < 4; pass++) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** What `make` gives, and how many bytes of the heap it takes. */
export function heapOf<T>(make: () => T): { readonly kept: T; readonly bytes: number } {
  // What is compiled and cached on first use is not part of it.
  make();
  const before = settledHeap();
  const kept = make();
  return { kept, bytes: settledHeap() - before };
}
