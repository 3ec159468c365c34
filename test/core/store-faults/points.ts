import { type FaultWay, faultWays } from "../../support/fault-store.js";
import type { Fault } from "./sweep.js";

/** One point of a sweep: a fault and its name. */
export interface FaultPoint {
  readonly name: string;
  readonly fault: Fault;
}

/** Shorter and longer than a turn waits, and than an instance lives without a heartbeat. */
const outagesMs = [8_000, 45_000] as const;

/** Any single call of a scenario. */
function callPoints(calls: readonly string[], way: FaultWay): FaultPoint[] {
  return calls.map((method, index) => ({
    name: `call ${index}, ${method}, ${way}`,
    fault: { way, single: true, hits: (call) => call.index === index },
  }));
}

/** All calls of any one method for a while, from its first call on. */
function methodPoints(calls: readonly string[], way: FaultWay): FaultPoint[] {
  return [...new Set([...calls, "retire"])].flatMap((method) =>
    outagesMs.map((forMs): FaultPoint => {
      let startedAt: number | undefined;
      const hits: Fault["hits"] = (call, { ms, calm }) => {
        if (call.method !== method) return false;
        startedAt ??= ms;
        // A handler retires last.
        return method === "retire" || (!calm && ms < startedAt + forMs);
      };
      const name = `all calls of ${method} for ${forMs} ms, ${way}`;
      return { name, fault: { way, single: false, hits } };
    }),
  );
}

/** All calls for a while, from any call on: short and long outages in turn. */
function outagePoints(calls: readonly string[], way: FaultWay): FaultPoint[] {
  return calls.map((method, first) => {
    const forMs = outagesMs[first % 2 === 0 ? 0 : 1];
    let startedAt: number | undefined;
    const hits: Fault["hits"] = ({ index }, { ms, calm }) => {
      if (index === first) startedAt = ms;
      return !calm && startedAt !== undefined && ms < startedAt + forMs;
    };
    const name = `all from call ${first}, ${method}, for ${forMs} ms, ${way}`;
    return { name, fault: { way, single: false, hits } };
  });
}

/** Every sweep: its title, its points, and how calls fail in it. */
export const sweeps = [
  { title: "any one call of the store", pointsOf: callPoints, ways: faultWays },
  { title: "for a while any one method of the store", pointsOf: methodPoints, ways: faultWays },
  {
    title: "from any call on the whole store",
    pointsOf: outagePoints,
    ways: ["fails", "fails after its effect"],
  },
] as const;
