import fc from "fast-check";
import { streamArtifact, type TaskArtifactUpdateEvent, working } from "trivium";
import { describe, expect, it } from "vitest";
import { textOf } from "../../../src/protocol/content/read.js";
import { artifactKey, type KeyedArtifactEvent } from "../../../src/protocol/events.js";
import { itemsOf } from "../../support/items.js";

const textIn = ({ artifact }: TaskArtifactUpdateEvent): string => textOf(artifact?.parts ?? []);

/** A chunk in short form: its text, `+` for an append, and `.` for the last. */
const short = (event: TaskArtifactUpdateEvent): string =>
  `${event.append ? "+" : ""}${textIn(event)}${event.lastChunk ? "." : ""}`;

async function* slowly(...pieces: readonly string[]): AsyncGenerator<string> {
  for (const piece of pieces) yield piece;
}

describe("streamed text", () => {
  it("streamed text is a first chunk, appended chunks, and an empty one that closes it", async () => {
    expect((await itemsOf(streamArtifact(slowly("a", "b", "c")))).map(short)).toEqual(["a", "+b", "+c", "+."]);
  });

  it.each<[string, readonly string[], readonly string[]]>([
    ["one string", ["a"], ["a", "+."]],
    ["strings that are not asynchronous, and empty ones between them", ["", "a", "", "b", ""], ["a", "+b", "+."]],
    ["nothing", [], []],
    ["nothing but empty strings", ["", ""], []],
    ["a character that is cut in two", ["a\ud83d", "\ude00b"], ["a", "+😀b", "+."]],
    ["a character that comes in halves alone", ["\ud83d", "\ude00"], ["😀", "+."]],
    ["a half with empty strings behind it", ["\ud83d", "", "\ude00"], ["😀", "+."]],
    ["half a character at the end", ["a\ud83d"], ["a", "+\ufffd", "+."]],
    ["half a character and nothing else", ["\ud83d"], ["\ufffd", "+."]],
    ["two first halves in a row", ["a\ud83d", "\ud83d", "\ude00"], ["a", "+\ud83d", "+😀", "+."]],
  ])("streamed text is made of %s", async (_, pieces, chunks) => {
    expect((await itemsOf(streamArtifact(pieces))).map(short)).toEqual(chunks);
  });

  it("streamed text joins to the original text, and splits no character, however the strings are split", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.array(fc.nat(20)), async (whole, cuts) => {
        const pieces: string[] = [];
        let rest = whole;
        for (const cut of cuts) {
          pieces.push(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        const texts = (await itemsOf(streamArtifact([...pieces, rest]))).map(textIn);
        expect(texts.join("")).toBe(whole);
        expect(texts.every((each) => each.isWellFormed())).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("streamed text passes events among the strings on, in their order, and keeps one artifact", async () => {
    async function* model() {
      yield "a";
      yield working("searching");
      yield "b";
    }
    const events = await itemsOf(streamArtifact(model(), { artifactId: "answer" }));
    const texts = events.map((event) =>
      event.$typeName === "lf.a2a.v1.TaskStatusUpdateEvent" ? textOf(event.status?.message) : short(event),
    );
    expect(texts).toEqual(["a", "searching", "+b", "+."]);
  });

  it.each([
    ["an object, such as an event of a model", { type: "text-delta", text: "a" }, "object"],
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
  ])("streamed text refuses %s in place of a string", async (_, piece, kind) => {
    const pieces = ["a", piece] as Iterable<string>;
    const text = `streamArtifact() takes a stream of strings and events, not of values of type ${kind}: yield the text of each`;
    await expect(itemsOf(streamArtifact(pieces))).rejects.toThrow(new TypeError(text));
  });

  it("streamed text gives its name and metadata with the first chunk, its media type with each", async () => {
    const members = { name: "n", description: "d", metadata: { a: 1 }, extensions: ["urn:e"] };
    const events = await itemsOf(streamArtifact(["a", "b"], { ...members, mediaType: "text/markdown" }));
    expect(events[0]?.artifact).toMatchObject(members);
    for (const { artifact } of events.slice(1)) {
      expect(artifact).toMatchObject({ name: "", description: "", extensions: [] });
      expect(artifact?.metadata).toBeUndefined();
    }
    expect(events.map(({ artifact }) => artifact?.parts[0]?.mediaType)).toEqual(Array(3).fill("text/markdown"));
  });

  it("streamed text has one key for its chunks, another for the next stream, none when given an id", async () => {
    const keysOf = (events: readonly KeyedArtifactEvent[]) => [...new Set(events.map((event) => event[artifactKey]))];
    const [first, ...others] = keysOf(await itemsOf(streamArtifact(["a", "b"])));
    expect(others).toEqual([]);
    expect(first).toBeTypeOf("object");
    expect(keysOf(await itemsOf(streamArtifact(["a", "b"])))[0]).not.toBe(first);
    const named = await itemsOf(streamArtifact(["a", "b"], { artifactId: "mine" }));
    expect(keysOf(named)).toEqual([undefined]);
    expect(named.map(({ artifact }) => artifact?.artifactId)).toEqual(["mine", "mine", "mine"]);
  });

  it("streamed text passes an error of its source on, and leaves the artifact open", async () => {
    async function* failingStream() {
      yield "a";
      throw new Error("the model broke");
    }
    const chunks: string[] = [];
    const read = async () => {
      for await (const event of streamArtifact(failingStream())) chunks.push(short(event));
    };
    await expect(read()).rejects.toThrow("the model broke");
    expect(chunks).toEqual(["a"]);
  });

  it("streamed text closes its source when it is left", async () => {
    let closed = false;
    async function* endless() {
      try {
        for (;;) yield "a";
      } finally {
        closed = true;
      }
    }
    for await (const _ of streamArtifact(endless())) break;
    expect(closed).toBe(true);
  });
});
