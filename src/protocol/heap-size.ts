// V8 ends a process whose old generation is full, so limits of its contents are fractions of its size.

/** Maximum size of the young generation within V8's limit, unless the size of the old one is set. */
const youngPart = 0.05;

const mebibyte = 2 ** 20;

/** Assumed size where the runtime does not report it. */
const usualBytes = 2 * 2 ** 30;

/** Limit of the heap's old generation in bytes, from `--max-old-space-size` or the machine; `undefined` if unknown. */
export function readHeapSize(): number | undefined {
  const { process } = globalThis;
  try {
    const threads = process.getBuiltinModule("node:worker_threads");
    const megabytes = threads.resourceLimits.maxOldGenerationSizeMb ?? sizeOption(process);
    if (megabytes !== undefined) return megabytes * mebibyte;
    const size = process.getBuiltinModule("node:v8").getHeapStatistics().heap_size_limit * (1 - youngPart);
    return size > 0 ? size : undefined;
  } catch {
    // Runtimes other than Node have some of these functions, and some of those throw.
    return undefined;
  }
}

/** A fraction of the heap, in whole mebibytes: the default limit for one kind of data. */
export function shareOfHeap(part: number): number {
  heapBytes ??= readHeapSize() ?? usualBytes;
  return Math.floor((heapBytes * part) / mebibyte) * mebibyte;
}

let heapBytes: number | undefined;

// V8's own limit also has the young generation, whose size does not follow from the option.
function sizeOption({ env, execArgv }: NodeJS.Process): number | undefined {
  const options = `${env["NODE_OPTIONS"] ?? ""} ${execArgv.join(" ")}`;
  const [, megabytes] = [...options.matchAll(/--max[-_]old[-_]space[-_]size[= ]+(\d+)/g)].at(-1) ?? [];
  return megabytes === undefined || Number(megabytes) === 0 ? undefined : Number(megabytes);
}
