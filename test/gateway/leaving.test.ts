import { create } from "@bufbuild/protobuf";
import { A2AError } from "trivium";
import { afterEach, describe, expect, it } from "vitest";
import { bindingRow } from "../../src/protocol/bindings.js";
import { AgentCardSchema, TaskState } from "../../src/protocol/model.js";
import { serviceOf, statusItem } from "../support/echo-service.js";
import { type HttpAgent, httpAgent } from "../support/http-agent.js";
import { errorOf, openStream, requestOf } from "../support/say.js";
import { bindings, type Scene, startScene } from "./scene.js";

let behind: HttpAgent | undefined;
let scene: Scene | undefined;
afterEach(async () => {
  await scene?.[Symbol.asyncDispose]();
  await behind?.[Symbol.asyncDispose]();
});

/**
 * An agent whose subscriptions never end and whose read of `"slow"` never returns. It reports when a call begins and
 * when it is left.
 */
async function endless(binding: "JSONRPC" | "HTTP+JSON") {
  const start = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const untilLeft = async (signal: AbortSignal): Promise<void> => {
    start.resolve();
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    left.resolve();
  };
  behind = await httpAgent(
    serviceOf({
      async *subscribeToTask(_, { signal }) {
        yield statusItem(1, TaskState.WORKING);
        await untilLeft(signal);
      },
      async getTask({ id }, { signal }) {
        if (id === "slow") await untilLeft(signal);
        throw new A2AError("taskNotFound", "no such task");
      },
    }),
  );
  const { wire: protocolBinding, path } = bindingRow(binding);
  const card = create(AgentCardSchema, {
    name: "Endless",
    capabilities: { streaming: true },
    supportedInterfaces: [{ url: behind.url + path, protocolBinding, protocolVersion: "1.0" }],
  });
  return { card, start: start.promise, left: left.promise };
}

describe.each(["JSONRPC", "HTTP+JSON"] as const)("in front of %s", (spoken) => {
  it.each(bindings)(
    "a caller of a gateway over %s that leaves a stream ends the call to the agent",
    async (binding) => {
      const agent = await endless(spoken);
      scene = await startScene({ gateway: { upstream: agent.card } });
      const { operations } = await scene.over(binding);
      const stream = operations.subscribeToTask(requestOf("subscribeToTask", { id: "t" }), {});
      const { iterator } = await openStream(stream);
      await iterator.return?.();
      await agent.left;
    },
  );

  it.each(bindings)(
    "a caller of a gateway over %s that abandons a call ends the call to the agent",
    async (binding) => {
      const agent = await endless(spoken);
      scene = await startScene({ gateway: { upstream: agent.card } });
      const { operations } = await scene.over(binding);
      const patience = new AbortController();
      const call = errorOf(operations.getTask(requestOf("getTask", { id: "slow" }), { signal: patience.signal }));
      await agent.start;
      patience.abort();
      expect((await call).name).toBe("AbortError");
      await agent.left;
      expect(scene.log.filter(({ level }) => level === "error")).toEqual([]);
    },
  );
});
