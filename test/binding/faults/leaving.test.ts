import { describe, expect, it } from "vitest";
import type { Transport } from "../../../src/binding/transport.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import type { FaultProxy } from "../../support/fault-proxy.js";
import { leftOpen, listenersOn, openHandles } from "../../support/leaks.js";
import { lineOf, say } from "../../support/say.js";
import { streaming } from "./operations.js";
import { sizeOf } from "./sweep.js";
import { bareWires, fiveLines, inTime, type Spoilable, spoilableAgent, transportAt } from "./through-proxy.js";

interface Held {
  readonly proxy: FaultProxy;
  readonly transport: Transport;
  readonly caller: AbortController;
  readonly stream: AsyncIterator<StreamItem>;
  /** The lines received before the bytes were held back. */
  readonly lines: readonly string[];
}

/** A stream whose response stalls midway on an open connection. */
async function held(agent: Spoilable, run: (held: Held) => Promise<void>): Promise<void> {
  const after = Math.round((await sizeOf(agent, streaming(agent), "response")) * 0.75);
  const before = openHandles();
  {
    const never = (): Promise<void> => new Promise(() => {});
    await using proxy = await agent.proxy([{ kind: "flow", response: { hold: { after, until: never } } }]);
    await using transport = transportAt(agent.wire, proxy.port);
    const caller = new AbortController();
    const stream = transport.sendStreamingMessage(say("go"), { signal: caller.signal })[Symbol.asyncIterator]();
    const first = await inTime(stream.next());
    await inTime(proxy.waitForBytes("response", after));
    const lines = first.done === true ? [] : [lineOf(first.value)];
    await run({ proxy, transport, caller, stream, lines });
    expect(listenersOn(caller.signal)).toBe(0);
    await transport.close?.();
    await inTime(proxy.idle());
  }
  expect(await leftOpen(before)).toEqual({});
}

describe.each(bareWires)("over %s, when a stream falls silent,", (wire) => {
  it("the reader of a silent stream can leave, and the connection is closed or free", async () => {
    await using agent = await spoilableAgent(wire);
    await held(agent, async ({ stream, lines }) => {
      expect(lines).toEqual(fiveLines.slice(0, 1));
      await inTime(stream.return?.() ?? Promise.reject(new Error("cannot be left")));
      expect(await inTime(stream.next())).toMatchObject({ done: true });
    });
  });

  it("the reader of a silent stream can leave while it waits", async () => {
    await using agent = await spoilableAgent(wire);
    await held(agent, async ({ stream, lines }) => {
      const allLines = [...lines];
      const read = async (): Promise<void> => {
        for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
          allLines.push(lineOf(next.value));
          if (allLines.length === 3) stream.return?.().then(undefined, () => {});
        }
      };
      await inTime(read());
      expect(allLines).toEqual(fiveLines.slice(0, 3));
    });
  });

  it("the caller of a silent stream can abort, and gets the reason", async () => {
    await using agent = await spoilableAgent(wire);
    await held(agent, async ({ stream, caller }) => {
      const reason = new Error("enough");
      const drain = async (): Promise<void> => {
        while ((await stream.next()).done !== true);
      };
      const rejection = expect(inTime(drain())).rejects.toBe(reason);
      caller.abort(reason);
      await rejection;
    });
  });
});
