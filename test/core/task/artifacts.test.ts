import { describe, expect, it } from "vitest";
import { merge } from "../../../src/core/turn/run-agent.js";
import { streamArtifact } from "../../../src/protocol/content/stream-artifact.js";
import { artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import type { Task } from "../../../src/protocol/model.js";
import { text } from "../../../src/protocol/parts.js";
import { startHandler } from "../../support/handler.js";
import { linesOf, taskOf, textIn } from "../../support/say.js";

const shown = ({ artifacts }: Task): string[] =>
  artifacts.map(({ artifactId, parts }) => `${artifactId} ${parts.map((part) => textIn([part])).join("|")}`);

async function* words(...list: readonly string[]): AsyncGenerator<string> {
  yield* list;
}

describe("an artifact without an id", () => {
  it("an artifact without an id gets one from its turn and its position in it", async () => {
    await using served = startHandler({
      async *agent({ task }) {
        yield artifact("a");
        yield working();
        yield artifact("b", { artifactId: "mine" });
        yield artifact("c");
        yield task === undefined ? inputRequired("more?") : completed();
      },
    });
    const { id: taskId } = taskOf(await served.send("one"));
    const task = taskOf(await served.send("two", { taskId }));
    expect(shown(task)).toEqual(["1.1 a", "mine b", "1.2 c", "2.1 a", "2.2 c"]);
  });

  it("an artifact without an id is a new artifact each time, also as a raw protocol event", async () => {
    const event = artifact("x");
    await using served = startHandler({
      async *agent() {
        yield event;
        yield event;
        yield { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "artifactUpdate", value: event } };
      },
    });
    expect(shown(taskOf(await served.send("go")))).toEqual(["1.1 x", "1.2 x", "1.3 x"]);
    expect(event.artifact?.artifactId).toBe("");
  });
});

describe("streamed text", () => {
  it("streamed text is one artifact with one text part, however many chunks it had", async () => {
    const options = { name: "story", description: "d", metadata: { a: 1 }, mediaType: "text/markdown" };
    await using served = startHandler({
      async *agent() {
        yield* streamArtifact(words(...Array.from({ length: 1000 }, (_, index) => `${index} `)), options);
      },
    });
    const [first, ...others] = taskOf(await served.send("go")).artifacts;
    expect(others).toEqual([]);
    const { mediaType, ...members } = options;
    expect(first).toMatchObject({ artifactId: "1.1", ...members });
    expect(first?.parts).toEqual([
      text(Array.from({ length: 1000 }, (_, index) => `${index} `).join(""), { mediaType }),
    ]);
  });

  it("streamed text comes in chunks, each but the first appended and the last one empty", async () => {
    await using served = startHandler({
      async *agent() {
        yield* streamArtifact(words("a", "b"));
      },
    });
    expect(await linesOf(served.stream("go"))).toEqual([
      "task SUBMITTED",
      'artifact 1.1 "a"',
      'artifact 1.1 "b" append',
      'artifact 1.1 "" append last',
      "status COMPLETED",
    ]);
  });

  it("streamed text makes no artifact of an empty stream", async () => {
    await using served = startHandler({
      async *agent() {
        yield* streamArtifact(words("", ""));
      },
    });
    expect(taskOf(await served.send("go")).artifacts).toEqual([]);
  });

  it("streamed text that is empty, in a turn without other events, leaves the answer to what follows", async () => {
    await using served = startHandler({
      async *agent() {
        yield* streamArtifact(words());
        yield reply("nothing to say");
      },
    });
    expect((await served.send("go")).payload.case).toBe("message");
  });

  it.each([
    [
      "one after the other",
      async function* () {
        yield* streamArtifact(words("a", "b"));
        yield* streamArtifact(words("c", "d"));
      },
    ],
    ["at the same time", () => merge(streamArtifact(words("a", "b")), streamArtifact(words("c", "d")))],
  ])("streamed text twice in one turn is two artifacts: %s", async (_, agent) => {
    await using served = startHandler({ agent });
    expect(new Set(shown(taskOf(await served.send("go"))))).toEqual(new Set(["1.1 ab", "1.2 cd"]));
  });

  it("streamed text replaces the content of the artifact with the given id", async () => {
    await using served = startHandler({
      async *agent() {
        yield artifact("old", { artifactId: "mine", name: "old" });
        yield* streamArtifact(words("new", "er"), { artifactId: "mine" });
      },
    });
    const task = taskOf(await served.send("go"));
    expect(shown(task)).toEqual(["mine newer"]);
    expect(task.artifacts[0]?.name).toBe("");
  });

  it("streamed text may be emitted by a plain function", async () => {
    await using served = startHandler({
      async agent({ emit }) {
        for await (const chunk of streamArtifact(words("a", "b"))) void emit(chunk);
      },
    });
    expect(shown(taskOf(await served.send("go")))).toEqual(["1.1 ab"]);
  });
});
