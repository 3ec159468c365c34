import { describe, expect, it } from "vitest";
import { createTransport } from "../../src/binding/transport.js";
import { Client } from "../../src/client/node.js";
import type { ConnectOptions } from "../../src/client/options.js";
import { startAllowance } from "../../src/client/timing.js";
import type { CallOptions } from "../../src/protocol/context.js";
import { ConnectionError } from "../../src/protocol/errors.js";
import { itemsOf } from "../support/items.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { cardOf } from "./support/cards.js";
import { throughPauses } from "./support/pauses.js";
import { result, rpcServer, silence, status } from "./support/rpc-server.js";

/** A client of a binding that records the options of every attempt and fails. */
async function failing(options: Pick<ConnectOptions, "timeoutMs" | "retry"> = {}) {
  const clock = createVirtualClock();
  const tries: CallOptions[] = [];
  const card = cardOf([{ protocolBinding: "urn:example:own", url: "own:place", protocolVersion: "1.0" }]);
  const client = await Client.connect(card, {
    ...options,
    clock,
    transports: [
      {
        binding: "urn:example:own",
        create: () =>
          createTransport({
            unary(_, __, callOptions) {
              tries.push(callOptions);
              return Promise.reject(new ConnectionError("cut", { written: false }));
            },
            stream: () => {
              throw new TypeError("no streams here");
            },
          }),
      },
    ],
  });
  return { client, clock, tries };
}

describe("the time of a call", () => {
  it("the time of a call covers all of its retries", async () => {
    const { client, clock, tries } = await failing({ retry: { unsentMs: 0 } });
    await using _client = client;
    const start = clock.now();
    const read = client.getTask({ id: "x" }, { timeoutMs: 100_000 });
    const pauses = await throughPauses(clock, read);
    await expect(read).rejects.toMatchObject({ code: "unavailable" });
    expect(tries.map(({ timeoutMs }) => timeoutMs)).toHaveLength(4);
    expect(tries[0]?.timeoutMs).toBe(100_000);
    const passed = pauses.reduce((sum, pause) => sum + pause, 0);
    expect(clock.now() - start).toBeCloseTo(passed);
    expect(tries[3]?.timeoutMs).toBe(Math.ceil(100_000 - passed));
  });

  it("the time of a call is not waited out for a retry that cannot fit", async () => {
    await using server = await rpcServer(status(503, { "retry-after": "10" }), result({ id: "x" }));
    const clock = createVirtualClock();
    await using client = await Client.connect(server.card, { clock, allowPrivate: true });
    await expect(client.getTask({ id: "x" }, { timeoutMs: 10_000 })).rejects.toMatchObject({
      code: "unavailable",
      retryAfterMs: 10_000,
    });
    expect(server.requests).toHaveLength(1);
  });

  it("the time of a call has a default of the client, which a call may change", async () => {
    const { client, clock, tries } = await failing({ timeoutMs: 700_000, retry: { unsentMs: 0 } });
    await using _client = client;
    for (const options of [{}, { timeoutMs: undefined }, { timeoutMs: 500_000 }]) {
      const read = client.getTask({ id: "x" }, options);
      await throughPauses(clock, read);
      await read.catch(() => {});
    }
    expect([tries[0], tries[4], tries[8]].map((options) => options?.timeoutMs)).toEqual([700_000, 700_000, 500_000]);
  });

  it.each(["read", "send", "stream"] as const)("the time of a call ends a %s that is never answered", async (call) => {
    await using server = await rpcServer(silence);
    await using client = await Client.connect(server.card, { allowPrivate: true, timeoutMs: 60 });
    const calls = {
      read: () => client.getTask({ id: "x" }),
      send: () => client.send("go"),
      stream: () => itemsOf(client.stream("go")),
    };
    await expect(calls[call]()).rejects.toMatchObject({ code: "deadlineExceeded" });
    expect(server.requests.length).toBeLessThanOrEqual(1);
  });

  it("an invalid time of a call is refused, with the option named", () => {
    const clock = createVirtualClock();
    for (const timeoutMs of [-1, Number.NaN]) {
      expect(() => startAllowance({ timeoutMs }, clock)).toThrow(
        new TypeError(`timeoutMs must be 0 or more milliseconds, not ${timeoutMs}`),
      );
    }
    expect(() => startAllowance({ timeoutMs: 0 }, clock).next()).toThrow("no answer within 0 ms");
  });

  it("the time of a call is clamped to the range of timers", () => {
    const clock = createVirtualClock();
    expect(startAllowance({ timeoutMs: 0.5 }, clock).next().timeoutMs).toBe(1);
    expect(startAllowance({ timeoutMs: Number.POSITIVE_INFINITY }, clock).next().timeoutMs).toBe(2 ** 31 - 1);
  });
});
