import { totalmem } from "node:os";
import { PerformanceObserver } from "node:perf_hooks";
import process from "node:process";
import { getHeapSpaceStatistics } from "node:v8";
import { noop } from "../../protocol/async/noop.js";
import { readHeapSize } from "../../protocol/heap-size.js";
import { isObject } from "../../protocol/kinds.js";

/** Reads how full a memory is. */
export interface MemoryGauge {
  /** Size of the memory in bytes. */
  readonly size: number;
  /** The used part. */
  read(): number;
  /** Calls back when there may be much to read. The returned function ends it. */
  watch?(listener: () => void): () => void;
}

/** The memories that the process may use up; `undefined` where there is no limit or the runtime does not report it. */
export interface Memories {
  readonly heap: MemoryGauge | undefined;
  readonly container: MemoryGauge | undefined;
}

export function processMemories(): Memories {
  return { heap: ifReported(heapGauge), container: ifReported(containerGauge) };
}

// Runtimes other than Node have some of these functions, and some of those throw.
function ifReported(gauge: () => MemoryGauge | undefined): MemoryGauge | undefined {
  try {
    const found = gauge();
    found?.read();
    return found;
  } catch {
    return undefined;
  }
}

/**
 * Measures live data in the heap, which is known after each collection of the old generation. V8 collects at the
 * latest halfway between what the last collection left and its limit. So with a part `used` in use, garbage included,
 * the last collection left `2 * used - 1` at least.
 */
function heapGauge(): MemoryGauge | undefined {
  const size = readHeapSize();
  if (size === undefined) return undefined;
  afterCollections(noop)();
  let partAfterCollection = 0;
  return {
    size,
    read: () => Math.max(partAfterCollection, (2 * oldGenerationUsed()) / size - 1),
    watch: (listener) =>
      afterCollections(() => {
        partAfterCollection = oldGenerationUsed() / size;
        listener();
      }),
  };
}

/** Calls back after collections of the old generation. */
function afterCollections(listener: () => void): () => void {
  const observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isMajor)) listener();
  });
  observer.observe({ entryTypes: ["gc"] });
  return () => observer.disconnect();
}

/** `NODE_PERFORMANCE_GC_MAJOR`. */
const majorKind = 4;

const isMajor = (entry: object): boolean => {
  const detail: unknown = "detail" in entry ? entry.detail : undefined;
  return isObject(detail) && "kind" in detail && detail.kind === majorKind;
};

// V8 ends the process when its old generation is full, however much room the young one has.
function oldGenerationUsed(): number {
  let bytes = 0;
  for (const { space_name, space_used_size } of getHeapSpaceStatistics()) {
    if (!space_name.startsWith("new_")) bytes += space_used_size;
  }
  return bytes;
}

function containerGauge(): MemoryGauge | undefined {
  const size = process.constrainedMemory();
  if (!(size > 0 && size < totalmem())) return undefined;
  return { size, read: () => process.memoryUsage.rss() / size };
}
