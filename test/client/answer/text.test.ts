import { describe, expect, it } from "vitest";
import { AnswerStream } from "../../../src/client/answer/answer-stream.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import type { StreamResponse, Task } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { text as textPart } from "../../../src/protocol/parts.js";
import { itemsOf } from "../../support/items.js";
import { foreignAgent, jsonBindings } from "../stream/resuming-agent.js";
import { chunk, messageEvent, status, taskEvent } from "../stream/resuming-events.js";

const task = (...artifacts: readonly (readonly [id: string, text: string])[]): Task => ({
  ...emptyTask("t", "c"),
  artifacts: artifacts.map(([artifactId, content]) => ({
    $typeName: "lf.a2a.v1.Artifact",
    artifactId,
    name: "",
    description: "",
    parts: [textPart(content)],
    extensions: [],
  })),
});

function streamOf(events: readonly StreamResponse[], maxBytes = Number.POSITIVE_INFINITY): AnswerStream {
  async function* items(): AsyncGenerator<StreamItem> {
    for (const response of events) yield { response };
  }
  return new AnswerStream(items, maxBytes);
}

/** The text of a stream piece by piece, and that of its answer. */
async function bothOf(...events: readonly StreamResponse[]): Promise<{ deltas: string[]; whole: string }> {
  const stream = streamOf(events);
  return { deltas: await itemsOf(stream.text), whole: (await stream.answer).text };
}

const opening = taskEvent(task());
const done = status("COMPLETED", "done");

describe("the text of a stream", () => {
  it("the text of a stream is that of the artifacts, with a blank line where another one goes on", async () => {
    expect(
      await bothOf(opening, chunk("a", false), chunk("b"), chunk("c", false, "b"), chunk("d", true, "b"), done),
    ).toEqual({
      deltas: ["a", "b", "\n\nc", "d"],
      whole: "ab\n\ncd",
    });
    const { deltas } = await bothOf(opening, chunk("a", false), chunk("c", false, "b"), chunk("b"), done);
    expect(deltas).toEqual(["a", "\n\nc", "\n\nb"]);
  });

  it.each([
    ["a message", [messageEvent("hi")], ["hi"]],
    ["the last status", [opening, status("WORKING", "thinking"), done], ["done"]],
    ["a question", [opening, status("INPUT_REQUIRED", "when?")], ["when?"]],
    ["a failure", [opening, status("FAILED", "no")], ["no"]],
    ["nothing", [opening, status("WORKING", "thinking"), status("COMPLETED")], []],
  ] as const)("the text of a stream is the final message when there is no other: %s", async (_, events, deltas) => {
    expect((await bothOf(...events)).deltas).toEqual(deltas);
  });

  it("the text of a stream begins with what the task has already", async () => {
    expect(await bothOf(taskEvent(task(["a", "one "], ["b", "two"])), chunk(" more", true, "b"), done)).toEqual({
      deltas: ["one \n\ntwo", " more"],
      whole: "one \n\ntwo more",
    });
  });

  it("the text of a stream is not repeated when an artifact is replaced by more of the same", async () => {
    expect(await bothOf(opening, chunk("one ", false), chunk("one two", false), done)).toEqual({
      deltas: ["one ", "two"],
      whole: "one two",
    });
    expect(await bothOf(opening, chunk("one ", false), chunk("one ", false), done)).toMatchObject({ deltas: ["one "] });
  });

  it("the text of a stream is not repeated when a turn runs again and says the same", async () => {
    const again = [chunk("o", false), chunk("ne t"), chunk("wo th"), chunk("ree")];
    expect(await bothOf(opening, chunk("one ", false), chunk("two"), ...again, done)).toEqual({
      deltas: ["one ", "two", " th", "ree"],
      whole: "one two three",
    });
  });

  it("the text of a stream starts again behind a blank line when an artifact becomes another text", async () => {
    expect(
      await bothOf(opening, chunk("one ", false), chunk("two"), chunk("on", false), chunk("ly"), chunk("!"), done),
    ).toEqual({
      deltas: ["one ", "two", "\n\nonly", "!"],
      whole: "only!",
    });
  });

  it("the text of a stream is not repeated when the whole task comes again", async () => {
    const { deltas, whole } = await bothOf(
      opening,
      chunk("one ", false),
      chunk("x", false, "b"),
      taskEvent(task(["a", "one two"], ["b", "xyz"])),
      chunk(" three"),
      done,
    );
    expect(deltas).toEqual(["one ", "\n\nx", "\n\ntwo\n\nyz", "\n\n three"]);
    expect(whole).toBe("one two three\n\nxyz");
  });

  it("the text of a stream keeps surrogate pairs together that an agent has cut", async () => {
    const cut = [chunk("a\ud83c", false), chunk("\udf0a"), chunk("\ud83c"), chunk("\udf0a!")];
    expect((await bothOf(opening, ...cut, done)).deltas).toEqual(["a", "\ud83c\udf0a", "\ud83c\udf0a!"]);
    const half = await bothOf(
      opening,
      chunk("a\ud83c", false),
      chunk("b", false, "b"),
      chunk("c\ud83c", true, "b"),
      done,
    );
    expect(half.deltas.join("")).toBe("a\ud83c\n\nbc\ud83c");
  });

  it("the text of a stream goes on when more has come than is remembered", async () => {
    const stream = streamOf([opening, chunk("12345", false), chunk("67890"), chunk("12"), chunk("0", false), done], 8);
    expect(await itemsOf(stream.text)).toEqual(["12345", "67890", "12", "\n\n0"]);
    await expect(stream.answer).rejects.toMatchObject({ code: "contentTooLarge" });
  });

  it.each(jsonBindings)(
    "the text of a stream is not repeated after a break at an agent that keeps no events: %s",
    async (binding) => {
      await using agent = await foreignAgent();
      await using client = await agent.connect(binding, { limits: { pollMs: 1 } });
      const stream = client.stream("go");
      const text = stream.text[Symbol.asyncIterator]();
      const first = text.next();
      await agent.opened(1);
      agent.emit(taskEvent(emptyTask("t", "c")), chunk("one ", false));
      expect((await first).value).toBe("one ");
      agent.cut();
      await agent.opened(0);
      agent.emit(chunk("two "));
      expect((await text.next()).value).toBe("two ");
      agent.cut();
      await agent.opened(0);
      agent.emit(chunk("one two and", false), chunk("three", false, "b"), chunk(" more"));
      expect([(await text.next()).value, (await text.next()).value]).toEqual(["and more", "\n\nthree"]);
      agent.cut();
      await agent.opened(0);
      // No events lead to an artifact without what it had: the whole task comes.
      agent.emit(chunk("four", false, "b"));
      expect((await text.next()).value).toBe("\n\nfour");
      agent.emit(status("COMPLETED"));
      agent.endStreams();
      expect((await text.next()).done).toBe(true);
      expect((await stream.answer).text).toBe("one two and more\n\nfour");
    },
  );
});
