import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Meters } from "./meters.js";

/** The gauges of one collection are read within this time, in milliseconds, and see the same delays. */
const collectionMs = 50;
const nanoseconds = 1e9;

/** Measures the delay of the event loop between collections, until the returned function is called. */
export function watchEventLoop(meters: Meters): () => void {
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  histogram.enable();
  let seen = { at: Number.NEGATIVE_INFINITY, mean: 0, p99: 0, max: 0 };
  const delays = (): typeof seen => {
    const at = performance.now();
    if (at - seen.at < collectionMs) return seen;
    const mean = Number.isNaN(histogram.mean) ? 0 : histogram.mean;
    seen = { at, mean, p99: histogram.percentile(99), max: histogram.max };
    histogram.reset();
    return seen;
  };
  const reading = (value: number) => [{ value: value / nanoseconds, attributes: {} }];
  const stops = [
    meters.observe("loopDelayMean", () => reading(delays().mean)),
    meters.observe("loopDelayP99", () => reading(delays().p99)),
    meters.observe("loopDelayMax", () => reading(delays().max)),
  ];
  return () => {
    for (const stop of stops) stop();
    histogram.disable();
  };
}
