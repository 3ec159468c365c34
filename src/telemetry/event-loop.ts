import { monitorEventLoopDelay } from "node:perf_hooks";
import { type Meters, stopAll } from "./meters.js";

/** The gauges of one collection are read within this time, in milliseconds, and see the same delays. */
const collectionMs = 50;
const nanoseconds = 1e9;

/** Measures the delay of the event loop between collections, until the returned function is called. */
export function watchEventLoop(meters: Meters): () => void {
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  histogram.enable();
  let sample = { at: Number.NEGATIVE_INFINITY, mean: 0, p99: 0, max: 0 };
  const currentSample = (): typeof sample => {
    const at = performance.now();
    if (at - sample.at < collectionMs) return sample;
    const mean = Number.isNaN(histogram.mean) ? 0 : histogram.mean;
    sample = { at, mean, p99: histogram.percentile(99), max: histogram.max };
    histogram.reset();
    return sample;
  };
  const reading = (value: number) => [{ value: value / nanoseconds, attributes: {} }];
  return stopAll([
    meters.observe("loopDelayMean", () => reading(currentSample().mean)),
    meters.observe("loopDelayP99", () => reading(currentSample().p99)),
    meters.observe("loopDelayMax", () => reading(currentSample().max)),
    () => histogram.disable(),
  ]);
}
