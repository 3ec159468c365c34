import { inspect } from "node:util";
import {
  A2AError,
  type AnswerStream,
  artifact,
  completed,
  data,
  file,
  inputRequired,
  reply,
  streamArtifact,
  text,
  working,
} from "trivium";
import { describe, expect, it } from "vitest";
import { itemsOf } from "../../support/items.js";
import { turns } from "../../support/turns.js";
import { type Served, served, type Way, ways } from "./scene.js";

type AgentFunction = Parameters<typeof served>[1];

/** An agent that counts its runs, and works for "wait" until it is aborted. */
function counted() {
  const counts = { runs: 0, aborted: 0 };
  const agent: AgentFunction = async function* ({ text: prompt, signal }) {
    counts.runs++;
    if (prompt === "hello") {
      yield reply("good morning");
      return;
    }
    yield working("on it");
    yield artifact("one ", { artifactId: "a", name: "First" });
    if (prompt === "wait") {
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      counts.aborted++;
    }
    if (prompt === "break") throw new A2AError("internalError", "broken");
    yield artifact("more", { artifactId: "a", append: true, lastChunk: true });
    yield artifact([text("two"), data({ at: 7 }), file(Uint8Array.of(1))], { artifactId: "b" });
    yield prompt === "ask" ? inputRequired("when?") : completed("done");
  };
  return { counts, agent };
}

async function openScene(way: Way): Promise<Served & ReturnType<typeof counted>> {
  const counter = counted();
  return Object.assign(await served(way, counter.agent), counter);
}

async function deltasOf(stream: AnswerStream): Promise<string[]> {
  return itemsOf(stream.text);
}

describe.each(ways)("a stream, %s", (way) => {
  it("a stream gives events of plain types", async () => {
    await using scene = await openScene(way);
    const [task, status, one, more, two, last, ...none] = await itemsOf(scene.client.stream("go"));
    expect(none).toEqual([]);
    const taskId = expect.stringMatching(/./);
    const ids = { taskId, contextId: expect.stringMatching(/./), id: expect.stringMatching(/./), recovered: undefined };
    expect(task).toMatchObject({ ...ids, type: "task", state: "submitted", answer: { state: "submitted", text: "" } });
    expect(status).toMatchObject({ ...ids, type: "status", state: "working", text: "on it", metadata: {} });
    expect(one).toMatchObject({
      ...ids,
      type: "artifact",
      artifactId: "a",
      name: "First",
      delta: "one ",
      append: false,
    });
    expect(more).toMatchObject({ ...ids, type: "artifact", artifactId: "a", delta: "more", append: true, last: true });
    expect(two).toMatchObject({ ...ids, type: "artifact", artifactId: "b", delta: "two", last: false });
    if (two?.type !== "artifact") throw new TypeError("no artifact");
    expect([two.data(), two.files.map(({ bytes }) => [...bytes()])]).toEqual([{ at: 7 }, [[1]]]);
    expect(last).toMatchObject({ ...ids, type: "status", state: "completed", text: "done" });
    expect(last?.response.payload.case).toBe("statusUpdate");
    const [hello, ...rest] = await itemsOf(scene.client.stream("hello"));
    expect(rest).toEqual([]);
    expect(hello).toMatchObject({ type: "message", text: "good morning", answer: { state: "message" }, id: undefined });
  });

  it("a stream is the protocol's JSON, and printed in plain words", async () => {
    await using scene = await openScene(way);
    const events = await itemsOf(scene.client.stream("go"));
    const json = JSON.parse(JSON.stringify(events));
    expect(json.map((each: object) => Object.keys(each))).toEqual([
      ["task"],
      ["statusUpdate"],
      ["artifactUpdate"],
      ["artifactUpdate"],
      ["artifactUpdate"],
      ["statusUpdate"],
    ]);
    expect(json[2].artifactUpdate).toMatchObject({ artifact: { artifactId: "a", parts: [{ text: "one " }] } });
    const printed = inspect(events, { depth: 6 });
    expect(printed).toContain("delta: 'one '");
    expect(printed).not.toMatch(/\$typeName|case:|\d+n\b/);
  });

  it("a stream gives the text as it comes, which is the answer's text", async () => {
    await using scene = await openScene(way);
    const stream = scene.client.stream("go");
    expect(await deltasOf(stream)).toEqual(["one ", "more", "\n\ntwo"]);
    expect((await stream.answer).text).toBe("one more\n\ntwo");
    expect(await deltasOf(scene.client.stream("hello"))).toEqual(["good morning"]);
  });

  it("a stream gives the same answer as a send, read or not", async () => {
    await using scene = await openScene(way);
    const { client } = scene;
    const expected = await client.send("go");
    const unread = await client.stream("go").answer;
    const stream = client.stream("go");
    const early = stream.answer;
    await itemsOf(stream);
    for (const answer of [unread, await early, await stream.answer]) {
      expect([answer.state, answer.text, answer.statusText]).toEqual(["completed", expected.text, "done"]);
      expect(answer.artifacts).toMatchObject(
        expected.artifacts.map(({ id, name, data: json }) => ({ id, name, data: json })),
      );
      expect(answer.task).toEqual(await client.getTask({ id: answer.taskId }));
    }
    expect((await client.stream("ask").answer).text).toBe("when?");
    expect(await client.stream("hello").answer).toMatchObject({ state: "message", text: "good morning" });
  });

  it("a stream gives its answer after partial reading, and the reader still gets every event", async () => {
    await using scene = await openScene(way);
    const stream = scene.client.stream("go");
    const types: string[] = [];
    for await (const event of stream) {
      types.push(event.type);
      if (types.length === 2) expect((await stream.answer).text).toBe("one more\n\ntwo");
    }
    expect(types).toEqual(["task", "status", "artifact", "artifact", "artifact", "status"]);
    const other = scene.client.stream("go");
    const reader = other[Symbol.asyncIterator]();
    await reader.next();
    expect((await other.answer).text).toBe("one more\n\ntwo");
  });

  it("a stream is closed when its reader leaves, and then has no answer", async () => {
    await using scene = await openScene(way);
    const stream = scene.client.stream("wait");
    let taskId = "";
    for await (const event of stream) {
      if (event.type === "task") taskId = event.taskId;
      if (event.type === "artifact") break;
    }
    await expect(stream.answer).rejects.toMatchObject({
      name: "AbortError",
      message: "the stream was left before its answer",
    });
    await expect(stream.answer).rejects.toBeInstanceOf(DOMException);
    expect((await scene.client.getTask({ id: taskId })).status?.state).toBe(2);
    const other = scene.client.watch(taskId);
    for await (const delta of other.text) {
      expect(delta).toBe("one ");
      break;
    }
    await expect(other.answer).rejects.toMatchObject({ name: "AbortError" });
    await scene.client.cancelTask({ id: taskId });
  });

  it("a stream has its answer when the reader leaves after the task's last status, or after the reply", async () => {
    await using scene = await openScene(way);
    for (const [prompt, state] of [
      ["go", "completed"],
      ["ask", "input-required"],
      ["hello", "message"],
    ] as const) {
      const stream = scene.client.stream(prompt);
      for await (const event of stream) {
        if (event.type === "message" || (event.type === "status" && event.state === state)) break;
      }
      expect((await stream.answer).state).toBe(state);
    }
  });

  it("a stream ends for its reader and for its answer with the same error", async () => {
    await using scene = await openScene(way);
    const { client } = scene;
    const refused = { code: "taskNotFound" };
    const stream = client.watch("nobody");
    await expect(itemsOf(stream)).rejects.toMatchObject(refused);
    await expect(stream.answer).rejects.toMatchObject(refused);
    await expect(client.watch("nobody").answer).rejects.toMatchObject(refused);
    await expect(deltasOf(client.watch("nobody"))).rejects.toMatchObject(refused);
    const giveUp = new AbortController();
    const waiting = client.stream("wait", { signal: giveUp.signal });
    const next = itemsOf(waiting);
    while (scene.counts.runs === 0) await turns(1);
    giveUp.abort(new Error("enough"));
    await expect(next).rejects.toThrow("enough");
    await expect(waiting.answer).rejects.toThrow("enough");
  });

  it("a stream follows a task to its end", async () => {
    await using scene = await openScene(way);
    const { client } = scene;
    const question = await client.send("ask");
    const watched = client.watch(question.taskId);
    const events = watched[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ type: "task", state: "input-required" });
    const rest = (async () => {
      const states: string[] = [];
      for await (const event of events) if (event.type === "status") states.push(event.state);
      return states;
    })();
    await client.send("go", { continue: question });
    expect(await rest).toEqual(["working", "completed"]);
    expect((await watched.answer).state).toBe("completed");
    expect((await client.watch(question.taskId).answer).taskId).toBe(question.taskId);
  });

  it("a stream keeps a surrogate pair together, however its agent got it", async () => {
    const words = ["wave \ud83c", "\udf0a and sun \u2600", "\ufe0f"];
    await using scene = await served(way, async function* () {
      yield* streamArtifact(words);
    });
    const stream = scene.client.stream("go");
    const deltas = await deltasOf(stream);
    expect(deltas.every((delta) => delta.isWellFormed())).toBe(true);
    expect(deltas.join("")).toBe(words.join(""));
    expect((await stream.answer).text).toBe(words.join(""));
  });
});

describe("a stream", () => {
  it("a stream opens when it is used", async () => {
    await using scene = await openScene("in process");
    const stream = scene.client.stream("hello");
    const { text: unused } = scene.client.stream("hello");
    await turns(20);
    expect(scene.counts.runs).toBe(0);
    expect(unused).toBeDefined();
    expect((await stream.answer).text).toBe("good morning");
    expect(scene.counts.runs).toBe(1);
  });

  it("a stream has one reader", async () => {
    await using scene = await openScene("in process");
    const { client } = scene;
    const already = "the stream has a reader already: read its events or its text, once, before its answer";
    const stream = client.stream("go");
    await itemsOf(stream);
    expect(() => stream[Symbol.asyncIterator]()).toThrow(new TypeError(already));
    await expect(deltasOf(stream)).rejects.toThrow(already);
    const texts = client.stream("go");
    await deltasOf(texts);
    await expect(itemsOf(texts)).rejects.toThrow(already);
    await expect(deltasOf(texts)).rejects.toThrow(already);
    const answered = client.stream("go");
    await answered.answer;
    await expect(itemsOf(answered)).rejects.toThrow("the stream is being read for its answer");
    expect(scene.counts.runs).toBe(3);
  });

  it("a stream is not opened by a reader that leaves at once", async () => {
    await using scene = await openScene("in process");
    const stream = scene.client.stream("go");
    await stream[Symbol.asyncIterator]().return();
    await expect(stream.answer).rejects.toMatchObject({ name: "AbortError" });
    expect(scene.counts.runs).toBe(0);
  });

  it("a stream never leaves a rejection unhandled", async () => {
    await using scene = await openScene("in process");
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      for await (const _ of scene.client.stream("wait")) break;
      const failing = scene.client.watch("nobody");
      void failing.answer;
      const late = scene.client.stream("go", { timeoutMs: -1 });
      void late.answer;
      const left = scene.client.stream("wait");
      void left.answer;
      for await (const event of left) if (event.type === "artifact") break;
      await turns(50);
      await expect(late.answer).rejects.toThrow("timeoutMs must be");
      await expect(failing.answer).rejects.toMatchObject({ code: "taskNotFound" });
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });
});
