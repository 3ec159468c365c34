import { A2AError, artifact, type ErrorCode, inputRequired } from "trivium";
import { expect, it } from "vitest";
import { errorCodes } from "../../src/protocol/errors.js";
import { itemsOf } from "../support/items.js";
import { errorOf, say, taskOf } from "../support/say.js";
import { overEach } from "../support/serve-agent.js";
import { errorOverWire, wiresThat } from "../support/wires.js";

const own = { reason: "BERTH_TAKEN", domain: "harbour.example", metadata: { berth: "4", näh: "ä\n" } };

overEach(wiresThat("tell the agent's answer"), (start, wire) => {
  it("every error keeps the agent's own reason, domain and metadata, in an answer and in a stream", async () => {
    await using served = await start({
      agent: ({ text }) => {
        throw new A2AError(text as ErrorCode, "taken", own);
      },
    });
    for (const code of errorCodes) {
      // JSON-RPC has one error for both.
      const isOne = code === "unsupportedMediaType" && wire.startsWith("JSONRPC");
      const expected = errorOverWire(wire, { code: isOne ? "contentTypeNotSupported" : code, ...own });
      expect(await errorOf(served.client.sendMessage(say(code), {}))).toMatchObject(expected);
      expect(await errorOf(itemsOf(served.client.sendStreamingMessage(say(code), {})))).toMatchObject(expected);
    }
  });

  it("the refusal of a further message keeps the agent's reason, and the task stays as it was", async () => {
    await using served = await start({
      async *agent({ task }) {
        if (task !== undefined) throw new A2AError("invalidParams", "taken", own);
        yield artifact("list of berths");
        yield inputRequired("which berth?");
      },
    });
    const { id: taskId } = taskOf(await served.client.sendMessage(say("go"), {}));
    const expected = errorOverWire(wire, { code: "invalidParams", ...own });
    expect(await errorOf(served.client.sendMessage(say("4", { taskId }), {}))).toMatchObject(expected);
  });
});
