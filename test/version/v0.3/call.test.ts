import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import { GetTaskRequestSchema } from "../../../src/protocol/model.js";
import { defaultValidationLimits } from "../../../src/protocol/validation-limits.js";
import { jsonRpcAdapter } from "../../../src/version/v0.3/json-rpc.js";
import { foreignAgent } from "../v0.1/foreign-agent.js";

const entry = (messageId: string) => ({
  kind: "message",
  messageId,
  role: "user",
  parts: [{ kind: "text", text: "x" }],
});

// The behavior of one family of servers: no history without a length, and all of it for a length of 0.
const history = (length: unknown) =>
  length === undefined ? [] : ["a", "b", "c"].slice(-Number(length)).map((id) => entry(id));

describe("the history of a task at an agent of 0.3", () => {
  it.each([
    { wanted: "all of it when no length is given", historyLength: undefined, ids: ["a", "b", "c"] },
    { wanted: "none of it for a length of 0", historyLength: 0, ids: [] },
    { wanted: "the last messages for any other length", historyLength: 2, ids: ["b", "c"] },
  ])("the history of a task at an agent of 0.3 is $wanted", async ({ historyLength, ids }) => {
    await using server = await foreignAgent(({ params, result }) =>
      result({
        kind: "task",
        id: "t",
        contextId: "c",
        status: { state: "working" },
        history: history(params["historyLength"]),
      }),
    );
    const transport = createJsonRpcTransport({ url: server.url, adapter: jsonRpcAdapter(defaultValidationLimits) });
    const request = create(GetTaskRequestSchema, {
      id: "t",
      ...(historyLength === undefined ? {} : { historyLength }),
    });
    const task = await transport.getTask(request, {});
    expect(task.history.map(({ messageId }) => messageId)).toEqual(ids);
  });
});
