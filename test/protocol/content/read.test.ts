import {
  type Artifact,
  artifact,
  completed,
  data,
  dataOf,
  file,
  filesOf,
  type Message,
  type Part,
  type PartSource,
  Role,
  reply,
  type TaskStatus,
  text,
  working,
} from "trivium";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { textOf } from "../../../src/protocol/content/read.js";

const artifactOf = (...parts: readonly Part[]): Artifact => artifact(parts).artifact ?? expect.fail("no artifact");
const status = (...parts: readonly Part[]): TaskStatus => completed(parts).status ?? expect.fail("no status");
const userMessage = (...parts: readonly Part[]): Message => ({ ...reply(parts), role: Role.USER });

describe("textOf", () => {
  it.each<[string, PartSource | undefined, string]>([
    ["one text part", [text("a")], "a"],
    ["texts with others between them", [text("a"), data({ b: 1 }), text("c")], "ac"],
    ["one part that is no text", [data("a")], ""],
    ["no parts", [], ""],
    ["a part", text("a"), "a"],
    ["a message", reply([text("a"), text("b")]), "ab"],
    ["an artifact", artifactOf(text("a"), file("https://x.example/y"), text("b")), "ab"],
    ["a status", status(text("done")), "done"],
    ["a status without a message", working().status, ""],
    ["nothing", undefined, ""],
  ])("textOf joins the text of %s", (_, source, expected) => {
    expect(textOf(source)).toBe(expected);
  });

  it("textOf refuses what has no parts of its own", () => {
    const task = { $typeName: "lf.a2a.v1.Task" } as unknown;
    expect(() => textOf(task as Message)).toThrow(
      new TypeError("content must be a message, an artifact, a status or parts, not lf.a2a.v1.Task"),
    );
    expect(() => textOf("hi" as unknown as Message)).toThrow("not a value of type string");
  });
});

describe("dataOf", () => {
  it.each<[string, PartSource | undefined, unknown]>([
    ["a part", data({ a: [1, null] }), { a: [1, null] }],
    ["a message", reply([text("see"), data(1), data(2)]), 1],
    ["an artifact", artifactOf(data(null)), null],
    ["a status", status(text("no"), data("yes")), "yes"],
    ["parts without data", [text("{}")], undefined],
    ["nothing", undefined, undefined],
  ])("dataOf gives the first data part of %s as plain JSON", (_, source, expected) => {
    expect(dataOf(source)).toEqual(expected);
  });

  it("dataOf gives a copy that may be changed", () => {
    const source = reply(data({ list: [1] }));
    const first = dataOf(source) as { list: number[] };
    first.list.push(2);
    expect(dataOf(source)).toEqual({ list: [1] });
  });

  const schema = z.object({ when: z.string() });
  it.each<[string, PartSource, string, string]>([
    ["a message of a caller", userMessage(text("x"), data({ when: 1 })), "invalidParams", "message.parts[1].data.when"],
    ["a message of an agent", reply(data({ when: 1 })), "invalidAgentResponse", "message.parts[0].data.when"],
    ["an artifact", artifactOf(data({})), "invalidAgentResponse", "artifact.parts[0].data.when"],
    ["a status", status(data(7)), "invalidAgentResponse", "status.message.parts[0].data"],
    ["parts", [data({ when: null })], "invalidParams", "parts[0].data.when"],
    ["a part", data({ when: null }), "invalidParams", "part.data.when"],
    ["a message without data", userMessage(text("x")), "invalidParams", "message.parts"],
  ])("dataOf blames who sent %s, and names the field", (_, source, code, field) => {
    expect(() => dataOf(source, schema)).toThrow(
      expect.objectContaining({ code, violations: [expect.objectContaining({ field })] }),
    );
  });

  it("dataOf lets a schema decide that the data may be missing", () => {
    expect(dataOf([text("x")], schema.optional())).toBeUndefined();
  });
});

describe("filesOf", () => {
  const bytes = new Uint8Array([1, 2, 3]);

  it("filesOf lists files with bytes and files with a URL", () => {
    const files = filesOf([
      text("see"),
      file(bytes, { filename: "a.bin", mediaType: "application/x-a" }),
      file("https://x.example/b"),
    ]);
    expect(files).toMatchObject([
      { name: "a.bin", mediaType: "application/x-a", url: undefined },
      { name: undefined, mediaType: undefined, url: "https://x.example/b" },
    ]);
    expect(files[0]?.bytes()).toEqual(bytes);
  });

  it("filesOf gives a copy of the bytes", () => {
    const [content] = filesOf(reply(file(bytes)));
    content?.bytes().fill(0);
    expect(content?.bytes()).toEqual(bytes);
  });

  it.each<[string, PartSource, string, string]>([
    ["a caller", userMessage(text("x"), file("https://x.example/b")), "invalidParams", "message.parts[1]"],
    ["an agent", artifactOf(file("https://x.example/b")), "invalidAgentResponse", "artifact.parts[0]"],
  ])("filesOf says that a URL of %s has no bytes", (_, source, code, field) => {
    const description = "gives the URL of a file whose bytes are needed: send them as raw, or fetch the URL";
    expect(() => filesOf(source)[0]?.bytes()).toThrow(
      expect.objectContaining({ code, violations: [{ field, description }] }),
    );
  });

  it("filesOf finds none in nothing", () => {
    expect(filesOf(undefined)).toEqual([]);
  });
});
