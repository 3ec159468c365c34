import { toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createHttpJsonTransport } from "../../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import { bindingRow } from "../../../src/protocol/bindings.js";
import { ConnectionError } from "../../../src/protocol/errors.js";
import { GetTaskRequestSchema, SendMessageRequestSchema } from "../../../src/protocol/model.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { httpAdapter, rpcAdapter } from "../../support/http-agent.js";
import { requestOf, say, taskOf } from "../../support/say.js";
import { positionsIn } from "./sweep.js";
import {
  bareWires,
  fiveLines,
  isHttp,
  type Outcome,
  outcomeOf,
  type Spoilable,
  spoilableAgent,
  transportAt,
} from "./through-proxy.js";

/** The responses of a real agent to a call and a stream, as bytes on the wire. */
interface Answers {
  readonly id: string;
  readonly call: Uint8Array;
  readonly stream: Uint8Array;
}

async function recorded({ wire, served }: Spoilable): Promise<Answers> {
  const { id } = taskOf(await served.client.sendMessage(say("go"), {}));
  const taskRequest = requestOf("getTask", { id });
  if (wire === "GRPC") {
    using session = rawSession(served.server.grpcPort ?? served.server.port);
    const call = await session.call("GetTask", frame(toBinary(GetTaskRequestSchema, taskRequest)));
    const request = toBinary(SendMessageRequestSchema, say("go"));
    const stream = await session.call("SendStreamingMessage", frame(request));
    return { id, call: call.body, stream: stream.body };
  }
  const bodies: Uint8Array[] = [];
  const recordingFetch: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    const body = new Uint8Array(await response.arrayBuffer());
    bodies.push(body);
    return new Response(body, { headers: response.headers });
  };
  const options = { url: served.server.url + bindingRow(wire).path, fetch: recordingFetch };
  const transport =
    wire === "JSONRPC"
      ? createJsonRpcTransport({ ...options, adapter: rpcAdapter })
      : createHttpJsonTransport({ ...options, adapter: httpAdapter });
  await transport.getTask(taskRequest, {});
  await outcomeOf(transport.sendStreamingMessage(say("go"), {}));
  const [call = new Uint8Array(), stream = new Uint8Array()] = bodies;
  return { id, call, stream };
}

/** Replies with the first bytes of a body and then ends it cleanly. */
async function answered(
  agent: Spoilable,
  body: Uint8Array,
  what: "call" | "stream",
  id: string,
): Promise<Outcome<unknown>> {
  const unaryType = agent.wire === "GRPC" ? "application/grpc" : "application/json";
  const type = what === "stream" && agent.wire !== "GRPC" ? "text/event-stream" : unaryType;
  const answer = { status: 200, headers: { "content-type": type }, body };
  await using proxy = await agent.proxy([{ kind: "answer", answer }]);
  await using transport = transportAt(agent.wire, proxy.port);
  return await outcomeOf(
    what === "call"
      ? transport.getTask(requestOf("getTask", { id }), {})
      : transport.sendStreamingMessage(say("go"), {}),
  );
}

describe.each(bareWires)("over %s, when an answer ends early and cleanly,", (wire) => {
  it("a call whose answer ends early never takes a part for the whole", async () => {
    await using agent = await spoilableAgent(wire);
    const { id, call } = await recorded(agent);
    for (const after of positionsIn(call.length).filter((position) => position < call.length)) {
      const { reply, error } = await answered(agent, call.subarray(0, after), "call", id);
      expect([after, reply, error?.message]).toEqual([after, undefined, expect.any(String)]);
    }
    // Without its trailers, even a complete gRPC reply is invalid.
    const { reply } = await answered(agent, call, "call", id);
    expect(reply !== undefined).toBe(isHttp(wire));
  });

  it("a stream whose answer ends early gives no half event, and none twice", async () => {
    await using agent = await spoilableAgent(wire);
    const { id, stream } = await recorded(agent);
    let most = 0;
    for (const after of positionsIn(stream.length).filter((position) => position < stream.length)) {
      const { lines, error } = await answered(agent, stream.subarray(0, after), "stream", id);
      expect([after, lines]).toEqual([after, fiveLines.slice(0, lines.length)]);
      // Over HTTP a clean end says nothing about a stream: the reader recognizes the last event.
      if (!isHttp(wire)) expect([after, error]).toEqual([after, expect.any(ConnectionError)]);
      most = Math.max(most, lines.length);
    }
    expect(most).toBeGreaterThanOrEqual(4);
  });
});
