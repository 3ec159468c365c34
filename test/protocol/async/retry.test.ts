import { describe, expect, it } from "vitest";
import { backoffMs, type RetryPlan, retry } from "../../../src/protocol/async/retry.js";

/** A clock that runs timers at once and records their pauses. */
function hasty(pauseAfter: RetryPlan["pauseAfter"]): RetryPlan & { readonly pauses: number[] } {
  const pauses: number[] = [];
  const after = (ms: number, run: () => void): (() => void) => {
    pauses.push(ms);
    queueMicrotask(run);
    return () => {};
  };
  return { clock: { after }, pauseAfter, pauses };
}

function failing(times: number): () => Promise<string> {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls <= times) throw new Error(`failure ${calls}`);
    return `call ${calls}`;
  };
}

describe("pauses", () => {
  it.each([
    [{ firstMs: 20, maxMs: 100 }, [20, 40, 80, 100, 100]],
    [{ firstMs: 200, maxMs: 2000, factor: 1.5 }, [200, 300, 450, 675, 1012.5]],
    [{ firstMs: 100 }, [100, 200, 400, 800, 1600]],
  ])("the pauses of retries grow by %j", (growth, pauses) => {
    expect(pauses.map((_, index) => backoffMs(index + 1, growth))).toEqual(pauses);
  });
});

describe("a retry", () => {
  it("a retry ends with the first success", async () => {
    const plan = hasty((_, failures) => backoffMs(failures, { firstMs: 1 }));
    expect(await retry(failing(3), plan)).toBe("call 4");
    expect(plan.pauses).toEqual([1, 2, 4]);
  });

  it("a retry ends with the error that the plan gives up at", async () => {
    const plan = hasty((error) => (error instanceof Error && error.message === "failure 2" ? undefined : 0));
    await expect(retry(failing(5), plan)).rejects.toThrow("failure 2");
    expect(plan.pauses).toEqual([0]);
  });

  it("a retry ends with the reason of a signal that aborts while it pauses", async () => {
    const caller = new AbortController();
    const never = { after: () => () => {} };
    const run = retry(failing(5), { clock: never, pauseAfter: () => 1, signals: [undefined, caller.signal] });
    caller.abort(new Error("enough"));
    await expect(run).rejects.toThrow("enough");
  });
});
