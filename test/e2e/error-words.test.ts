import { A2AError, completed, file } from "trivium";
import { expect, it } from "vitest";
import type { ErrorCode } from "../../src/protocol/errors.js";
import { errorOf, requestOf, say, taskOf } from "../support/say.js";
import { overEach, overEveryWire } from "../support/serve-agent.js";
import { type Wire, wireRow, wiresThat } from "../support/wires.js";

// Callers look for the specification's own words at the start of a message. Our client passes on what it received.

const words = {
  taskNotFound: "Task not found",
  taskNotCancelable: "Task cannot be canceled",
  pushNotificationNotSupported: "Push Notification is not supported",
  unsupportedOperation: "This operation is not supported",
  contentTypeNotSupported: "Incompatible content types",
} as const satisfies { readonly [code in ErrorCode]?: string };

type Worded = keyof typeof words;

const codes = Object.keys(words) as readonly Worded[];

// A client of 0.1 recognizes two errors by their whole text, one of them spelled differently; it also calls methods of
// 0.3.
function wholeText(wire: Wire, code: Worded): string | undefined {
  if (!wire.startsWith("JSONRPC")) return undefined;
  const { version } = wireRow(wire);
  if (version === "0.1" && code === "taskNotCancelable") return "Task not cancelable";
  return version !== "1.0" && code === "taskNotFound" ? words.taskNotFound : undefined;
}

overEach(wiresThat("tell the agent's answer"), (start, wire) => {
  it.each(codes)("the error %s begins with the specification's words, then the agent's message", async (code) => {
    await using served = await start({
      agent: () => {
        throw new A2AError(code, "because");
      },
    });
    const message = wholeText(wire, code) ?? `${words[code]}: because`;
    expect(await errorOf(served.client.sendMessage(say("go"), {}))).toMatchObject({ code, message });
  });

  it("the specification's words are not repeated when the agent uses them", async () => {
    await using served = await start({
      agent: () => {
        throw new A2AError("unsupportedOperation", "this Operation is not supported by night");
      },
    });
    const error = await errorOf(served.client.sendMessage(say("go"), {}));
    expect(error.message).toBe("This operation is not supported by night");
  });
});

overEveryWire((start, wire) => {
  it("the server's own refusals begin with the specification's words as well", async () => {
    await using served = await start({
      card: { name: "n", description: "d", version: "1", defaultInputModes: ["text/csv"] },
      agent: async () => completed(),
    });
    const { client } = served;
    const fileOf = (mediaType: string) => file(new Uint8Array([1]), { mediaType });
    const { id } = taskOf(await client.sendMessage(say([fileOf("text/csv")]), {}));
    const config = { taskId: id, url: "http://127.0.0.1:9/hook" };
    const refused = [
      ["taskNotFound", () => client.getTask(requestOf("getTask", { id: "none" }), {})],
      ["taskNotCancelable", () => client.cancelTask(requestOf("cancelTask", { id }), {})],
      [
        "pushNotificationNotSupported",
        () => client.createTaskPushNotificationConfig(requestOf("createTaskPushNotificationConfig", config), {}),
      ],
      ["contentTypeNotSupported", () => client.sendMessage(say([fileOf("image/png")]), {})],
    ] as const;
    for (const [code, call] of refused) {
      const error = await errorOf(call());
      expect(error.code).toBe(code);
      expect(error.message.startsWith(wholeText(wire, code) ?? words[code])).toBe(true);
    }
  });
});
