import { describe, expect, it } from "vitest";
import { completed, inputRequired, working } from "../../../src/protocol/events.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { streamWholeTurn } from "../../../src/version/v0.3/serve.js";
import { statusItem } from "../../support/echo-service.js";
import { lineOf } from "../../support/say.js";

const stateOf = ({ status }: { readonly status?: { readonly state: number } | undefined }): number =>
  status?.state ?? 0;
const item = (event: Parameters<typeof stateOf>[0]): StreamItem => statusItem(1, stateOf(event));

/** A source that yields its items, then fails or ends, and records what happens to it. */
function source(items: readonly StreamItem[], end: () => void | Promise<void>) {
  const lines: string[] = [];
  async function* give() {
    try {
      for (const each of items) {
        lines.push(lineOf(each));
        yield each;
      }
      await end();
      lines.push("end");
    } finally {
      lines.push("left");
    }
  }
  return { lines, stream: streamWholeTurn(give()) };
}

describe("the stream of a message to an existing task", () => {
  it("the 0.3 stream of a later message sends its last status when the stream ended after it", async () => {
    const ended = Promise.withResolvers<void>();
    const { stream, lines } = source([item(working()), item(completed())], () => ended.promise);
    expect(lineOf((await stream.next()).value as StreamItem)).toBe("status WORKING");
    let isTold = false;
    const last = stream.next().finally(() => {
      isTold = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([lines.at(-1), isTold]).toEqual(["status COMPLETED", false]);
    ended.resolve();
    expect(lineOf((await last).value as StreamItem)).toBe("status COMPLETED");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(lines.slice(-2)).toEqual(["end", "left"]);
  });

  it("the 0.3 stream of a later message sends the failure after its last status in its place", async () => {
    const { stream } = source([item(completed())], () => {
      throw new Error("the message was not taken");
    });
    await expect(stream.next()).rejects.toThrow("the message was not taken");
  });

  it("the 0.3 stream of a later message holds nothing else back", async () => {
    const never = new Promise<void>(() => {});
    const { stream } = source([item(working()), item(inputRequired("?"))], () => never);
    expect(lineOf((await stream.next()).value as StreamItem)).toBe("status WORKING");
    expect(lineOf((await stream.next()).value as StreamItem)).toBe("status INPUT_REQUIRED");
  });

  it("the 0.3 stream of a later message leaves its source when it is left", async () => {
    const { stream, lines } = source([item(working()), item(working())], () => {});
    await stream.next();
    expect(await stream.return()).toEqual({ done: true, value: undefined });
    expect(lines).toEqual(["status WORKING", "left"]);
  });
});
