import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { findOperation, type Operation, type StreamItem } from "../../../src/protocol/operations.js";
import { defaultValidationLimits } from "../../../src/protocol/validation-limits.js";
import { jsonRpcAdapter } from "../../../src/version/v0.3/json-rpc.js";
import { pushAdapter } from "../../../src/version/v0.3/push.js";
import { v1 } from "../../../src/version/v1.0/v1.js";
import { calls, delivered, errors, streamed } from "./wire-examples.js";

const adapter = jsonRpcAdapter(defaultValidationLimits);

describe("JSON-RPC examples of 0.3", () => {
  // Requirements: V03-TRANS-4, V03-TASK-1
  it.each(calls)("the 0.3 example $id $method is read and written back", ({ method, params, result, adds }) => {
    const operation = methodOf(method);
    const codec = adapter.codec(operation);
    const request = codec.readRequest(params);
    expect(codec.writeRequest(request) ?? {}).toEqual({ ...params, ...adds });
    if (result !== undefined) expect(codec.writeReply(codec.readReply(result, request), request)).toEqual(result);
    expect(adapter.findMethod(operation)).toBe(method);
  });

  it("the 0.3 example E5 is read and written back", () => {
    const operation = findOperation("sendStreamingMessage");
    const request = adapter.codec(operation).readRequest(calls[0]?.params);
    const reader = adapter.readStream(operation, request);
    const items: StreamItem[] = [];
    for (const event of streamed) {
      expect(reader.isOver).toBe(false);
      items.push(...reader.read(event));
    }
    expect(reader.isOver).toBe(true);
    const writer = adapter.writeStream(operation, request);
    const written = items.flatMap((item) => writer.write(item)).map(({ payload }) => JSON.parse(payload) as JsonObject);
    expect(written).toEqual(streamed);
    expect(writer.end?.()).toEqual([]);
  });

  // Requirements: V03-PUSH-8
  it("the 0.3 example E13 is what a webhook is sent", () => {
    const operation = findOperation("subscribeToTask");
    const [item] = adapter.readStream(operation).read(delivered);
    if (item === undefined) throw new Error("the event was passed over");
    expect(JSON.parse(pushAdapter.write(item))).toEqual(delivered);
    expect(pushAdapter).toMatchObject({ delivers: "task", mediaType: "application/json" });
  });

  it.each(errors)("the error of the 0.3 example $id is read and written back, without data", ({ error, code }) => {
    const read = adapter.readError(error);
    expect(read).toMatchObject({ code, message: error["message"] });
    const { data: _, ...rest } = error;
    expect(adapter.writeError(read, undefined)).toEqual(rest);
  });

  it("the 0.3 example E30 is the request of E1 in 1.0", () => {
    const operation = findOperation("sendMessage");
    const request = adapter.codec(operation).readRequest(calls[0]?.params);
    expect(v1.jsonRpc?.codec(operation).writeRequest(request)).toEqual({
      message: {
        messageId: "m-1",
        role: "ROLE_USER",
        parts: [{ text: "Which berth is free on 4 May?" }, { data: { length: 182.5, draught: 9.1 } }],
      },
      configuration: { acceptedOutputModes: ["text/plain", "application/json"], historyLength: 1 },
    });
  });
});

function methodOf(method: string): Operation {
  const operation = adapter.methods.get(method);
  if (operation === undefined) throw new Error(`no method ${method}`);
  return operation;
}
