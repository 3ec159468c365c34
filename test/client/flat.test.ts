import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { resumeExtension, withEventId } from "../../src/protocol/extensions.js";
import { emptyTask } from "../../src/protocol/fold.js";
import { AgentCardSchema } from "../../src/protocol/model.js";
import type { StreamItem } from "../../src/protocol/operations.js";
import { text } from "../../src/protocol/parts.js";
import { connectAgent } from "../support/connect-agent.js";
import { serviceOf } from "../support/echo-service.js";
import { grpcAgent } from "../support/grpc-agent.js";
import { httpAgent } from "../support/http-agent.js";
import { tries } from "../support/tries.js";
import { turns } from "../support/turns.js";
import { chunk, status, taskEvent } from "./stream/resuming-events.js";

// A long stream of an operation takes no more memory than a short one, and the client reads no faster than the caller takes events.

const bindings = {
  JSONRPC: { serve: httpAgent, path: "/json-rpc", events: tries(10_000, 100_000) },
  "HTTP+JSON": { serve: httpAgent, path: "/http-json", events: tries(10_000, 20_000) },
  GRPC: { serve: grpcAgent, path: "", events: tries(10_000, 20_000) },
  CONNECT: { serve: connectAgent, path: "", events: tries(10_000, 20_000) },
};

interface Source {
  pulled: number;
  closed: boolean;
}

/** A client of an agent that sends `count` events with ids and keeps none. */
async function source(binding: keyof typeof bindings, count: number, size: number) {
  const state: Source = { pulled: 0, closed: false };
  const piece = "x".repeat(size);
  const service = serviceOf({
    async *sendStreamingMessage() {
      const numbered = (item: StreamItem): StreamItem => {
        state.pulled++;
        const id = `n${state.pulled}`;
        return { id, response: withEventId(item.response, id) };
      };
      try {
        yield numbered({ response: taskEvent(emptyTask("t", "c")) });
        for (let place = 0; place < count; place++) yield numbered({ response: chunk(piece, place > 0) });
        yield numbered({ response: status("COMPLETED") });
      } finally {
        state.closed = true;
      }
    },
  });
  const { serve, path } = bindings[binding];
  const agent = await serve(service);
  const url = binding === "GRPC" ? `127.0.0.1:${agent.port}` : `http://127.0.0.1:${agent.port}${path}`;
  const supportedInterfaces = [{ url, protocolBinding: binding, protocolVersion: "1.0" }];
  // The agent promises to resume after its events. For other agents the client must keep the content.
  const capabilities = { streaming: true, extensions: [{ uri: resumeExtension }] };
  const client = await Client.connect(create(AgentCardSchema, { name: "Long", capabilities, supportedInterfaces }), {
    grpcTls: false,
  });
  return {
    client,
    state,
    async [Symbol.asyncDispose]() {
      await client.close();
      await agent[Symbol.asyncDispose]();
    },
  };
}

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function heapMiB(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

describe.each(Object.keys(bindings) as (keyof typeof bindings)[])("over %s", (binding) => {
  const { events } = bindings[binding];

  it(`${events} events of a stream pass without growing the heap`, { timeout: 120_000 }, async () => {
    await using long = await source(binding, events, 400);
    let eventCount = 0;
    let early = 0;
    for await (const _ of long.client.sendStreamingMessage({ message: { parts: [text("go")] } })) {
      eventCount++;
      if (eventCount === 2_000) early = heapMiB();
      if (eventCount === events) expect(heapMiB() - early).toBeLessThan(4);
    }
    expect(eventCount).toBe(events + 2);
  });

  it("a reader that pauses makes the agent pause, and one that leaves closes the stream", async () => {
    const [count, size] = [4000, 50_000];
    await using long = await source(binding, count, size);
    const { state } = long;
    let eventCount = 0;
    for await (const _ of long.client.stream("go")) {
      eventCount++;
      if (eventCount < 10) continue;
      let before = -1;
      while (before !== state.pulled) {
        before = state.pulled;
        await turns(50);
      }
      // Includes what is in the sockets' buffers.
      expect(state.pulled).toBeLessThan(count / 4);
      break;
    }
    while (!state.closed) await turns(1);
  });
});
