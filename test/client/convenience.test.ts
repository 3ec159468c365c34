import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileFrom, fileOf, text } from "trivium";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { taskOf } from "../support/answers.js";
import { itemsOf } from "../support/items.js";
import { allBindings } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { result, rpcServer } from "./support/rpc-server.js";

const messageResult = result({ message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "said" }] } });
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

describe.each(allBindings)("over %s", (binding) => {
  it("a text is answered by a message, or by a task with its artifacts", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { prefer: [binding] });
    expect(await client.send("say")).toMatchObject({ state: "message", text: "said" });
    expect(client.connection?.binding).toBe(binding);
    expect(await client.send("go")).toMatchObject({ state: "completed", artifacts: [{ id: "a", text: "one two" }] });
  });

  it("a stream yields every event, and adds up to the same task as a send", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { prefer: [binding] });
    const events = (await itemsOf(client.stream("go"))).map(({ response }) => response.payload.case);
    expect(events).toEqual(["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
    const task = taskOf(await client.stream("go").answer);
    expect(await client.getTask({ id: task.id })).toMatchObject({ artifacts: task.artifacts, status: task.status });
    expect(await client.stream("say").answer).toMatchObject({ state: "message", text: "said" });
  });

  it("a task that asks for input continues with the answer", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { prefer: [binding] });
    const asking = await client.send("ask");
    expect([asking.state, asking.text]).toEqual(["input-required", "which?"]);
    const done = await client.send("that one", { continue: asking });
    expect([done.taskId, done.contextId, done.state]).toEqual([asking.taskId, asking.contextId, "completed"]);
  });

  it("a refusal of the agent has the same code", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { prefer: [binding] });
    await expect(client.getTask({ id: "nobody" })).rejects.toMatchObject({ code: "taskNotFound" });
    const task = taskOf(await client.send("go"));
    await expect(client.cancelTask({ id: task.id })).rejects.toMatchObject({ code: "taskNotCancelable" });
    await expect(client.getExtendedAgentCard({})).rejects.toMatchObject({ code: "unsupportedOperation" });
  });
});

describe("a message", () => {
  it("a message is sent with an id, the role of the user and its text", async () => {
    await using server = await rpcServer(messageResult);
    await using client = await Client.connect(server.card);
    await client.send("hello");
    await client.sendMessage({ message: { parts: [text("hello")] } });
    const message = { messageId: expect.stringMatching(uuid), role: "ROLE_USER", parts: [{ text: "hello" }] };
    expect(server.requests.map(({ params }) => params)).toEqual([{ message }, { message }]);
  });

  it("a message is sent with every given field", async () => {
    await using server = await rpcServer(messageResult);
    await using client = await Client.connect(server.card);
    const options = {
      messageId: "m1",
      referenceTaskIds: ["t7"],
      metadata: { a: 1 },
      configuration: { historyLength: 3, acceptedOutputModes: ["text/plain"] },
      tenant: "t1",
    };
    await client.send([text("a"), text("b", { mediaType: "text/markdown" })], {
      ...options,
      continue: { contextId: "c1" },
    });
    await client.send("on", { continue: { taskId: "t1", contextId: "c2" } });
    const parts = [{ text: "a" }, { text: "b", mediaType: "text/markdown" }];
    expect(server.requests[0]?.params).toEqual({
      tenant: "t1",
      message: {
        messageId: "m1",
        contextId: "c1",
        role: "ROLE_USER",
        parts,
        metadata: { a: 1 },
        referenceTaskIds: ["t7"],
      },
      configuration: { historyLength: 3, acceptedOutputModes: ["text/plain"] },
    });
    expect(server.requests[1]?.params).toMatchObject({ message: { taskId: "t1", contextId: "c2" } });
  });

  it("a message without a part is refused before it is sent", async () => {
    await using server = await rpcServer(messageResult);
    await using client = await Client.connect(server.card);
    await expect(client.send([])).rejects.toThrow("content needs one part or more");
    const wanted = "content must be a text, a part as data() and file() make it, or a list of them, not";
    for (const content of [undefined, 5, {}, { text: "go" }, ["go", { text: "go" }]]) {
      const json = JSON.stringify(Array.isArray(content) ? content[1] : content);
      await expect(client.send(content as never)).rejects.toThrow(new TypeError(`${wanted} ${json}`));
      expect(() => client.stream(content as never)).toThrow(new TypeError(`${wanted} ${json}`));
    }
    expect(server.requests).toEqual([]);
  });

  it("an empty answer to a message is an invalid agent response", async () => {
    await using server = await rpcServer(result({}));
    await using client = await Client.connect(server.card);
    await expect(client.send("hello")).rejects.toMatchObject({ code: "invalidAgentResponse" });
  });
});

describe("a file", () => {
  it("a file of a message comes from a path, with its name", async () => {
    const folder = await mkdtemp(join(tmpdir(), "files-"));
    try {
      const path = join(folder, "berths.csv");
      await writeFile(path, "a,b\n");
      const bytes = new Uint8Array(Buffer.from("a,b\n"));
      expect(await fileFrom(path)).toMatchObject({ filename: "berths.csv", content: { case: "raw", value: bytes } });
      const named = await fileFrom(path, { filename: "other.csv", mediaType: "text/csv" });
      expect(named).toMatchObject({ filename: "other.csv", mediaType: "text/csv" });
      await expect(fileFrom(join(folder, "none"))).rejects.toMatchObject({ code: "ENOENT" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("a file of a message comes from a blob, with its name and type", async () => {
    const value = new Uint8Array([1, 2]);
    expect(await fileOf(new Blob([value], { type: "image/png" }))).toMatchObject({
      filename: "",
      mediaType: "image/png",
      content: { case: "raw", value },
    });
    expect(await fileOf(new File([value], "a.bin"), { mediaType: "x/y" })).toMatchObject({
      filename: "a.bin",
      mediaType: "x/y",
    });
  });

  it("a file of a message reaches the agent unchanged", async () => {
    await using server = await rpcServer(messageResult);
    await using client = await Client.connect(server.card);
    await client.send(await fileOf(new File([new Uint8Array([251, 255])], "a.bin")));
    expect(server.requests[0]?.params).toMatchObject({ message: { parts: [{ raw: "+/8=", filename: "a.bin" }] } });
  });
});
