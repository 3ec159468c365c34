import { describe, expect, it } from "vitest";
import { createSemaphore } from "../../src/push/semaphore.js";
import { settle } from "../support/virtual-clock.js";

interface Work {
  readonly name: string;
  readonly end: () => void;
}

/** Records what runs and ends it on request. */
function workshop(count: number) {
  const semaphore = createSemaphore(count);
  const running: Work[] = [];
  const start = (name: string, signal: AbortSignal = new AbortController().signal): Promise<string> =>
    semaphore.run(signal, () => new Promise((resolve) => running.push({ name, end: () => resolve(name) })));
  const end = async (name: string): Promise<void> => {
    const index = running.findIndex((work) => work.name === name);
    for (const work of running.splice(index, 1)) work.end();
    await settle();
  };
  return { semaphore, start, end, names: () => running.map(({ name }) => name) };
}

describe("slots", () => {
  it("run up to the limit at once, and the others in request order", async () => {
    const { start, end, names } = workshop(2);
    const all = ["a", "b", "c", "d"].map((name) => start(name));
    await settle();
    expect(names()).toEqual(["a", "b"]);
    await end("b");
    expect(names()).toEqual(["a", "c"]);
    await end("a");
    await end("c");
    await end("d");
    expect(await Promise.all(all)).toEqual(["a", "b", "c", "d"]);
  });

  it("are released by work that fails", async () => {
    const { semaphore, start, names } = workshop(1);
    const { signal } = new AbortController();
    await expect(semaphore.run(signal, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    void start("a");
    await settle();
    expect(names()).toEqual(["a"]);
  });

  it("skip waiters that left, and a waiter that leaves makes room for the next", async () => {
    const { start, end, names } = workshop(1);
    const leaving = new AbortController();
    void start("a");
    const left = start("b", leaving.signal);
    void start("c");
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await expect(start("d", leaving.signal)).rejects.toThrow("left");
    await end("a");
    expect(names()).toEqual(["c"]);
  });
});
