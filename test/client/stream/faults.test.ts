import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../../../src/client/node.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { TaskState } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import type { Exchange } from "../../support/fault-proxy.js";
import { cutAfter, type Direction, type Ending, type Rule } from "../../support/fault-schedule.js";
import { leftOpen, openHandles } from "../../support/leaks.js";
import { tries } from "../../support/tries.js";
import { allBindings, answerLines, ended, type FaultyServer, faultyServer, sixLines } from "./faults-server.js";

// Streams of a Trivium server over connections that break.

const cuts = (["request", "response"] as const).flatMap((direction) =>
  (["end", "reset", "half"] as const).map((how) => [direction, how] as const),
);

const positions = tries(2, 12);

/** Offsets into so many bytes: the first and the last, and others at even distances, with many tries both ends too. */
function positionsIn(size: number): number[] {
  const even = Array.from({ length: positions - 1 }, (_, place) => Math.round(((place + 1) * size) / positions));
  const ends = tries(0, 1) === 1 ? [0, size] : [];
  return [...new Set([1, ...even, size - 1, ...ends])];
}

interface Streaming {
  readonly lines: readonly string[];
  /** How many turns a call may start. */
  readonly runs: number;
  /** The final error of the stream. Default: none. */
  readonly error?: unknown;
  open(client: Client): AsyncIterable<StreamItem> | Promise<AsyncIterable<StreamItem>>;
}

let served: FaultyServer;
beforeAll(async () => {
  served = await faultyServer();
});
afterAll(() => served[Symbol.asyncDispose]());

describe.each(allBindings)("over %s, wherever the connection is cut,", (binding) => {
  /** Releases the task when the stream has begun. */
  async function* releasing(stream: AsyncIterable<StreamItem>): AsyncGenerator<StreamItem> {
    for await (const item of stream) {
      served.release();
      yield item;
    }
  }

  // The task must be running before a subscription.
  async function held(): Promise<string> {
    const id = await served.hold();
    for await (const { response } of served.direct.subscribeToTask({ id })) {
      const { payload } = response;
      if (payload.case === "message" || payload.case === "artifactUpdate") continue;
      if (payload.value?.status?.state === TaskState.WORKING) break;
    }
    return id;
  }

  const calls: Readonly<Record<string, Streaming>> = {
    "a send": { lines: sixLines, runs: 1, open: (client) => client.stream("go") },
    "an answer": {
      lines: answerLines,
      runs: 2,
      open: async (client) => client.stream("this", { continue: await served.direct.send("ask") }),
    },
    "a subscription": {
      lines: ["task WORKING", ...sixLines.slice(2)],
      runs: 1,
      open: async (client) => releasing(client.subscribeToTask({ id: await held() })),
    },
    "a message that its task does not take": {
      lines: ["task WORKING", ...sixLines.slice(2)],
      runs: 1,
      error: expect.objectContaining({ code: "unsupportedOperation" }),
      open: async (client) => releasing(client.stream("more", { continue: { taskId: await held(), contextId: "" } })),
    },
  };

  const sizes = new Map<Streaming, Exchange>();

  /** How many bytes a call takes over a connection that is whole. */
  async function sizeOf(call: Streaming): Promise<Exchange> {
    const { open, lines, error } = call;
    const cachedSize = sizes.get(call);
    if (cachedSize !== undefined) return cachedSize;
    await using way = await served.way(binding, []);
    expect(await ended(await open(way.client))).toEqual({ lines, error });
    const size = way.proxy.record()[0] ?? { request: 0, response: 0 };
    sizes.set(call, size);
    return size;
  }

  async function once(call: Streaming, after: number, [direction, how]: readonly [Direction, Ending]) {
    const { open, lines, runs, error } = call;
    const before = served.runs;
    await using way = await served.way(binding, [cutAfter(direction, after, how), { kind: "pass" }]);
    const outcome = await ended(await open(way.client));
    const result = { after, runs: served.runs - before, ...outcome };
    if (direction === "request" && how === "half" && outcome.lines.length === 0) {
      // A server answers half a request.
      expect(result).toMatchObject({ lines: [], error: expect.any(A2AError) });
      expect(result.runs).toBeLessThanOrEqual(runs);
      return 2;
    }
    expect(result).toEqual({ after, runs, lines, error });
    return way.proxy.connections;
  }

  describe.each(Object.entries(calls))("%s", (_, call) => {
    it.each(cuts)(
      "a stream cut anywhere gives every event once, in order, and starts the agent once: %s, %s",
      async (...where) => {
        const size = (await sizeOf(call))[where[0]];
        const handles = openHandles();
        let broken = 0;
        for (const after of positionsIn(size)) broken += (await once(call, after, where)) > 1 ? 1 : 0;
        expect(broken).toBeGreaterThan(positions / 2);
        expect(await leftOpen(handles)).toEqual({});
      },
    );
  });
});

const silences: readonly (readonly [when: string, rule: Rule])[] = [
  ["before it answers", { kind: "hang" }],
  ["in the middle", { kind: "flow", response: { hold: { after: 700, until: () => new Promise(() => {}) } } }],
];

describe.each(allBindings)("over %s", (binding) => {
  it.each(silences)("an agent that falls silent %s is one error when the time is over", async (_, rule) => {
    const handles = openHandles();
    {
      await using way = await served.way(binding, [rule]);
      const { lines, error } = await ended(way.client.stream("go", { timeoutMs: 150 }));
      expect(lines).toEqual(sixLines.slice(0, lines.length));
      expect(lines.length).toBeLessThan(sixLines.length);
      expect(error).toMatchObject({ code: "deadlineExceeded" });
    }
    expect(await leftOpen(handles)).toEqual({});
  });
});
