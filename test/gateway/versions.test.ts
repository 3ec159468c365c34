import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindings } from "../../src/protocol/bindings.js";
import { versionTable } from "../../src/version/versions.js";
import { itemsOf } from "../support/items.js";
import { errorOf, lineOf, openStream, requestOf, say, stateOf, taskOf, textIn } from "../support/say.js";
import { type Scene, startScene } from "./scene.js";

// An agent that speaks one binding of one version, and callers of every binding of every version.

const [{ name: newest } = { name: "" }] = versionTable;
const namesTasks = "0.1";
const ways = versionTable.flatMap(({ name: version, adapters }) =>
  bindings.filter(({ adapter }) => adapters.includes(adapter)).map(({ name: binding }) => ({ version, binding })),
);

// A card of an old version must list one of the protocol's three bindings.
const behinds = ways.filter(({ version, binding }) => binding !== "CONNECT" || version === newest);

describe.each(behinds)("in front of an agent that speaks $binding $version alone", (behind) => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await startScene({ behind: { bindings: [behind.binding], versions: [behind.version] } });
  });
  afterAll(() => scene?.[Symbol.asyncDispose]());

  it("the gateway reports how it calls the agent", async () => {
    // The two oldest versions look alike until the first message.
    await (await scene.over("HTTP+JSON")).send("echo hello");
    expect(scene.gateway.upstream?.version).toMatch(new RegExp(`^${behind.version}`));
  });

  describe.each(ways)("a caller over $binding $version", ({ version, binding }) => {
    const client = async () => (await scene.over(binding, { version })).operations;

    it("a caller gets the task of a message through a gateway between versions, and can read it again", async () => {
      const operations = await client();
      const task = taskOf(await operations.sendMessage(say("echo good morning"), {}));
      expect([stateOf(task), textIn(task.artifacts[0]?.parts)]).toEqual(["COMPLETED", "good morning"]);
      const again = await operations.getTask(requestOf("getTask", { id: task.id }), {});
      expect([again.id, again.contextId, stateOf(again)]).toEqual([task.id, task.contextId, "COMPLETED"]);
    });

    it("a caller reads a stream to its end through a gateway between versions", async () => {
      const operations = await client();
      const items = await itemsOf(operations.sendStreamingMessage(say("chunks"), {}));
      const lines = items.map(lineOf);
      expect([lines[0]?.slice(0, 4), lines.at(-1)]).toEqual(["task", "status COMPLETED"]);
      const chunks = items.flatMap(({ response: { payload } }) =>
        payload.case === "artifactUpdate" ? [textIn(payload.value.artifact?.parts)] : [],
      );
      expect(chunks).toEqual(["one", "two", "three"]);
    });

    it("a caller answers the agent's question in the same task through a gateway between versions", async () => {
      const operations = await client();
      const question = taskOf(await operations.sendMessage(say("ask berth"), {}));
      expect([stateOf(question), textIn(question.status?.message?.parts)]).toEqual(["INPUT_REQUIRED", "which one?"]);
      const { id: taskId, contextId } = question;
      const answered = taskOf(await operations.sendMessage(say("the north one", { taskId, contextId }), {}));
      expect([answered.id, stateOf(answered)]).toEqual([taskId, "COMPLETED"]);
      expect(textIn(answered.artifacts[0]?.parts)).toBe("berth the north one");
    });

    it("a caller cancels a task whose stream it reads through a gateway between versions", async () => {
      const operations = await client();
      const stream = await openStream(operations.sendStreamingMessage(say("wait"), {}));
      const { id } = taskOf(stream.firstItem.response);
      expect(stateOf(await operations.cancelTask(requestOf("cancelTask", { id }), {}))).toBe("CANCELED");
      expect((await stream.readRest()).at(-1)).toBe("status CANCELED");
    });

    it("a caller gets the errors of the agent through a gateway between versions", async () => {
      const operations = await client();
      const missing = await errorOf(operations.getTask(requestOf("getTask", { id: "nowhere" }), {}));
      expect(missing.code).toBe("taskNotFound");
      const canceled = await errorOf(operations.cancelTask(requestOf("cancelTask", { id: "nowhere" }), {}));
      expect(canceled.code).toBe("taskNotFound");
      // In the oldest version a message creates its task before the agent's first event.
      if (behind.version === namesTasks) {
        expect(stateOf(taskOf(await operations.sendMessage(say("refuse"), {})))).toBe("FAILED");
        return;
      }
      const refused = await errorOf(operations.sendMessage(say("refuse"), {}));
      expect([refused.code, refused.message]).toEqual([
        "invalidParams",
        expect.stringMatching(/no such word|is no word/),
      ]);
    });
  });
});
