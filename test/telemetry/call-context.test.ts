import { context, createContextKey, propagation, trace } from "@opentelemetry/api";
import { type Agent, reply, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postJson } from "../support/http-agent.js";
import { type StartedSdk, startSdk } from "../support/otel-sdk.js";

let sdk: StartedSdk;
beforeAll(async () => {
  sdk = await startSdk();
});
afterAll(() => sdk[Symbol.asyncDispose]());

const traceId = "0af7651916cd43dd8448eb211c80319c";

/** Calls an agent as a caller whose trace is sampled or not. */
async function call(agent: Agent, sampled: boolean): Promise<void> {
  const card = { name: "Contextual", description: "d", version: "1" };
  await using server = await serve({ card, agent, port: 0, logger: false });
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
  const headers = {
    "a2a-version": "1.0",
    traceparent: `00-${traceId}-b7ad6b7169203331-0${sampled ? 1 : 0}`,
    baggage: "customer=north",
  };
  const request = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  const { text } = await postJson(`${server.url}/json-rpc`, request, headers);
  expect(text).toContain("done");
}

describe.each([true, false])("the context of a call whose caller says sampled: %s", (sampled) => {
  it("the context of a call has the span of the trace, and the caller's baggage", async () => {
    await call(async () => {
      expect(trace.getActiveSpan()?.spanContext()).toMatchObject({ traceId, traceFlags: sampled ? 1 : 0 });
      expect(propagation.getActiveBaggage()?.getEntry("customer")?.value).toBe("north");
      const headers: Record<string, string> = {};
      propagation.inject(context.active(), headers);
      expect(headers["traceparent"]).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)\\w{16}-0${+sampled}$`));
      expect(headers["baggage"]).toBe("customer=north");
      return reply("done");
    }, sampled);
  });

  it("the context of a call takes further values and gives them up again, and its span stays", async () => {
    const key = createContextKey("of the test");
    await call(async () => {
      const before = context.active();
      const span = trace.getSpan(before);
      const more = before.setValue(key, 1);
      expect([more.getValue(key), trace.getSpan(more) === span, before.getValue(key)]).toEqual([1, true, undefined]);
      const less = more.deleteValue(key);
      expect([less.getValue(key), trace.getSpan(less) === span]).toEqual([undefined, true]);
      expect(trace.getSpan(before.deleteValue(key))).toBe(span);
      await context.with(more, async () => expect(context.active().getValue(key)).toBe(1));
      return reply("done");
    }, sampled);
  });

  it("the context of a call loses its span for what is no part of the trace", async () => {
    await call(async () => {
      const apart = trace.deleteSpan(context.active());
      expect(trace.getSpan(apart)).toBeUndefined();
      expect(propagation.getBaggage(apart)?.getEntry("customer")?.value).toBe("north");
      const root = trace.getTracer("test").startSpan("apart", {}, apart);
      expect(root.spanContext().traceId).not.toBe(traceId);
      const other = trace.setSpan(context.active(), root);
      expect(trace.getSpan(other)).toBe(root);
      root.end();
      return reply("done");
    }, sampled);
  });
});
