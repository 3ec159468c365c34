import type {
  Attributes,
  Context,
  Counter,
  Histogram,
  MeterProvider,
  ObservableGauge,
  ObservableResult,
} from "@opentelemetry/api";
import { type InstrumentName, type InstrumentRow, instruments, type NameOf } from "./instruments.js";

/** The name under which spans and metrics are created. */
export const scopeName = "trivium";

/** Measures with the instruments of the table; each is created when it is first used. */
export interface Meters {
  /** `within`: the context of the span that was measured, which may serve as an example. */
  record(name: NameOf<"histogram">, value: number, attributes: Attributes, within: Context): void;
  /**
   * The same before metrics are collected, for servers: they have gauges, which are read first. One by one, between other
   * work, each record costs several times as much as many together.
   */
  recordLater(name: NameOf<"histogram">, value: number, attributes: Attributes, within: Context): void;
  count(name: NameOf<"counter">, attributes: Attributes): void;
  /** Has a gauge read whenever metrics are collected, until the returned function is called. */
  observe(name: NameOf<"gauge">, read: ReadGauge): () => void;
  /** Calls `start` for the first of its users, and what that returns after the last: for what a process has once. */
  once(start: (meters: Meters) => () => void): () => void;
  /** Records what waits. */
  flush(): void;
}

/** So many values wait at most. */
const maxWaiting = 128;

/** A value that waits to be recorded. */
interface Measurement {
  readonly histogram: Histogram;
  readonly value: number;
  readonly attributes: Attributes;
  readonly within: Context;
}

/** A value of a gauge. */
interface Reading {
  readonly value: number;
  readonly attributes: Attributes;
  /** What the value is about, if several servers of the process may report it: it counts once. */
  readonly source?: string;
}

/** Reads a gauge; a promise must not reject. */
type ReadGauge = () => readonly Reading[] | Promise<readonly Reading[]>;

/** The meters of each provider: several agents of a process share their instruments. */
const shared = new WeakMap<MeterProvider, Meters>();

export function metersOf(provider: MeterProvider): Meters {
  const known = shared.get(provider) ?? createMeters(provider);
  shared.set(provider, known);
  return known;
}

function createMeters(provider: MeterProvider): Meters {
  const meter = provider.getMeter(scopeName);
  const histograms = new Map<InstrumentName, Histogram>();
  const counters = new Map<InstrumentName, Counter>();
  const gauges = new Map<InstrumentName, Set<ReadGauge>>();

  const histogram = (name: NameOf<"histogram">): Histogram => {
    const { name: title, unit, description, buckets } = instruments[name];
    const made = meter.createHistogram(title, {
      ...{ unit, description },
      advice: { explicitBucketBoundaries: [...buckets] },
    });
    histograms.set(name, made);
    return made;
  };
  const counter = (name: NameOf<"counter">): Counter => {
    const { name: title, unit, description } = instruments[name];
    const made = meter.createCounter(title, { unit, description });
    counters.set(name, made);
    return made;
  };
  const gauge = (name: NameOf<"gauge">): Set<ReadGauge> => {
    const { name: title, unit, description, isLargest }: InstrumentRow = instruments[name];
    const readers = new Set<ReadGauge>();
    const made: ObservableGauge = meter.createObservableGauge(title, { unit, description });
    made.addCallback((result) => {
      flush();
      return report(result, readers, isLargest);
    });
    gauges.set(name, readers);
    return readers;
  };
  const waiting: Measurement[] = [];
  const flush = (): void => {
    for (const { histogram, value, attributes, within } of waiting) histogram.record(value, attributes, within);
    waiting.length = 0;
  };
  const running = new Map<(meters: Meters) => () => void, { readonly users: number; readonly stop: () => void }>();
  const meters: Meters = {
    record: (name, ...measured) => (histograms.get(name) ?? histogram(name)).record(...measured),
    recordLater(name, value, attributes, within) {
      waiting.push({ histogram: histograms.get(name) ?? histogram(name), value, attributes, within });
      if (waiting.length === maxWaiting) flush();
    },
    count: (name, attributes) => (counters.get(name) ?? counter(name)).add(1, attributes),
    observe(name, read) {
      const readers = gauges.get(name) ?? gauge(name);
      readers.add(read);
      return () => void readers.delete(read);
    },
    once(start) {
      const shared = running.get(start) ?? { users: 0, stop: start(meters) };
      running.set(start, { ...shared, users: shared.users + 1 });
      return () => {
        const { users = 0 } = running.get(start) ?? {};
        if (users > 1) return void running.set(start, { ...shared, users: users - 1 });
        running.delete(start);
        shared.stop();
      };
    },
    flush,
  };
  return meters;
}

/** Values of the same attributes add up, unless the largest is asked for: two servers of one agent may run in a process. */
async function report(result: ObservableResult, readers: Iterable<ReadGauge>, isLargest = false): Promise<void> {
  const totals = new Map<string, Reading>();
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

/** Measures twice: for an SDK, and for metrics that are served. */
export function both(one: Meters, other: Meters): Meters {
  return {
    record(...measured) {
      one.record(...measured);
      other.record(...measured);
    },
    recordLater(...measured) {
      one.recordLater(...measured);
      other.recordLater(...measured);
    },
    count(...counted) {
      one.count(...counted);
      other.count(...counted);
    },
    observe(...observed) {
      const stops = [one.observe(...observed), other.observe(...observed)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    once(start) {
      const stops = [one.once(start), other.once(start)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    flush() {
      one.flush();
      other.flush();
    },
  };
}
