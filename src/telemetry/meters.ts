import type {
  Attributes,
  Context,
  Counter,
  Histogram,
  MeterProvider,
  ObservableGauge,
  ObservableResult,
} from "@opentelemetry/api";
import packageJson from "../../package.json" with { type: "json" };
import { type InstrumentName, type InstrumentRow, instruments, type NameOf } from "./instruments.js";

// A provider has one `Meters`, whatever agents of the process measure with it. An instrument is created by its first use.
// Values of `recordLater` wait in a queue until it is full, or until a gauge is read, which begins each collection: so no
// collection misses them. Values of a gauge with the same attributes are added, and one `source` counts once.

/** The instrumentation scope of spans and metrics: name and version of this package. */
export const scope = [packageJson.name, packageJson.version] as const;

/** Measures with the instruments of the table; each is created with its first use. */
export interface Meters {
  /** `context`: the context of the measured span, which may become an exemplar. */
  record(name: NameOf<"histogram">, value: number, attributes: Attributes, context: Context): void;
  /**
   * Records when metrics are collected, for servers: they have gauges, which are read first. A record on its own,
   * between other work, costs several times as much as one of many.
   */
  recordLater(name: NameOf<"histogram">, value: number, attributes: Attributes, context: Context): void;
  count(name: NameOf<"counter">, attributes: Attributes): void;
  /** Reads a gauge whenever metrics are collected, until the returned function is called. */
  observe(name: NameOf<"gauge">, read: ReadGauge): () => void;
  /** Calls `start` for its first user, and the function that it returned after the last: for gauges of the process. */
  shareGauges(start: (meters: Meters) => () => void): () => void;
  /** Records the queued values. */
  flush(): void;
}

/** Most values in the queue. */
const maxQueued = 128;

/** A value that waits to be recorded. */
interface Measurement {
  readonly histogram: Histogram;
  readonly value: number;
  readonly attributes: Attributes;
  readonly context: Context;
}

/** A value of a gauge. */
interface GaugeValue {
  readonly value: number;
  readonly attributes: Attributes;
  /** Identifies a value that several servers of the process report: it counts once. */
  readonly source?: string;
}

/** Reads a gauge; a promise must not reject. */
type ReadGauge = () => readonly GaugeValue[] | Promise<readonly GaugeValue[]>;

/** The meters of each provider: several agents of a process share their instruments. */
const metersByProvider = new WeakMap<MeterProvider, Meters>();

export function openMeters(provider: MeterProvider): Meters {
  const meters = metersByProvider.get(provider) ?? createMeters(provider);
  metersByProvider.set(provider, meters);
  return meters;
}

function createMeters(provider: MeterProvider): Meters {
  const meter = provider.getMeter(...scope);
  const histograms = new Map<InstrumentName, Histogram>();
  const counters = new Map<InstrumentName, Counter>();
  const gauges = new Map<InstrumentName, Set<ReadGauge>>();

  const histogram = (name: NameOf<"histogram">): Histogram => {
    const { name: title, unit, description, buckets } = instruments[name];
    const instrument = meter.createHistogram(title, {
      unit,
      description,
      advice: { explicitBucketBoundaries: [...buckets] },
    });
    histograms.set(name, instrument);
    return instrument;
  };
  const counter = (name: NameOf<"counter">): Counter => {
    const { name: title, unit, description } = instruments[name];
    const instrument = meter.createCounter(title, { unit, description });
    counters.set(name, instrument);
    return instrument;
  };
  const gauge = (name: NameOf<"gauge">): Set<ReadGauge> => {
    const { name: title, unit, description, isLargest }: InstrumentRow = instruments[name];
    const readers = new Set<ReadGauge>();
    const instrument: ObservableGauge = meter.createObservableGauge(title, { unit, description });
    instrument.addCallback((result) => {
      flush();
      return report(result, readers, isLargest);
    });
    gauges.set(name, readers);
    return readers;
  };
  const queue: Measurement[] = [];
  const flush = (): void => {
    for (const { histogram, value, attributes, context: within } of queue) histogram.record(value, attributes, within);
    queue.length = 0;
  };
  const watchers = new Map<(meters: Meters) => () => void, { users: number; readonly stop: () => void }>();
  const meters: Meters = {
    record: (name, ...args) => (histograms.get(name) ?? histogram(name)).record(...args),
    recordLater(name, value, attributes, context) {
      queue.push({ histogram: histograms.get(name) ?? histogram(name), value, attributes, context });
      if (queue.length === maxQueued) flush();
    },
    count: (name, attributes) => (counters.get(name) ?? counter(name)).add(1, attributes),
    observe(name, read) {
      const readers = gauges.get(name) ?? gauge(name);
      readers.add(read);
      return () => void readers.delete(read);
    },
    shareGauges(start) {
      const watcher = watchers.get(start) ?? { users: 0, stop: start(meters) };
      watchers.set(start, watcher);
      watcher.users += 1;
      return () => {
        watcher.users -= 1;
        if (watcher.users > 0) return;
        watchers.delete(start);
        watcher.stop();
      };
    },
    flush,
  };
  return meters;
}

/**
 * Values with the same attributes are added, or the largest is taken: two servers of one agent may run in a process.
 */
async function report(result: ObservableResult, readers: Iterable<ReadGauge>, isLargest = false): Promise<void> {
  const totals = new Map<string, GaugeValue>();
  const sources = new Set<string>();
  const readings = await Promise.all(Array.from(readers, (read) => read()));
  for (const { value, attributes, source } of readings.flat()) {
    const key = JSON.stringify(attributes);
    const before = totals.get(key)?.value ?? 0;
    if (source !== undefined && sources.has(key + source)) continue;
    if (source !== undefined) sources.add(key + source);
    totals.set(key, { attributes, value: isLargest ? Math.max(before, value) : before + value });
  }
  for (const { value, attributes } of totals.values()) result.observe(value, attributes);
}

/** One function that calls all of these. */
export function stopAll(stops: readonly (() => void)[]): () => void {
  return () => {
    for (const stop of stops) stop();
  };
}

/** Measures with both: the SDK and the metrics endpoint. */
export function combineMeters(one: Meters, other: Meters): Meters {
  return {
    record(...args) {
      one.record(...args);
      other.record(...args);
    },
    recordLater(...args) {
      one.recordLater(...args);
      other.recordLater(...args);
    },
    count(...args) {
      one.count(...args);
      other.count(...args);
    },
    observe: (...args) => stopAll([one.observe(...args), other.observe(...args)]),
    shareGauges: (start) => stopAll([one.shareGauges(start), other.shareGauges(start)]),
    flush() {
      one.flush();
      other.flush();
    },
  };
}
