import { artifact, completed, inputRequired } from "trivium";
import { describe, expect, it } from "vitest";
import { itemsOf } from "../../support/items.js";
import { served, ways } from "./scene.js";

describe.each(ways)("the text of a stream that continues an answer, %s", (way) => {
  const agent = async function* ({ text, task }: { readonly text: string; readonly task?: unknown }) {
    if (task === undefined) {
      yield artifact("DRAFT", { artifactId: "a" });
      yield inputRequired("Good?");
    } else if (text === "more") {
      yield artifact(" and more", { artifactId: "a", append: true });
      yield artifact("beside", { artifactId: "b" });
      yield completed();
    } else if (text === "anew") {
      yield artifact("FINAL", { artifactId: "a" });
      yield completed();
    } else {
      yield completed("nothing changed");
    }
  };

  it.each([
    ["what was added", "more", [" and more", "\n\nbeside"]],
    ["what was written anew", "anew", ["FINAL"]],
    ["the final message when there is no other text", "same", ["nothing changed"]],
  ] as const)("the text of a stream that continues an answer is only what is new: %s", async (_, text, deltas) => {
    await using scene = await served(way, agent);
    const draft = await scene.client.send("write");
    expect(draft.state).toBe("input-required");
    const stream = scene.client.stream(text, { continue: draft });
    expect(await itemsOf(stream.text)).toEqual(deltas);
  });

  it("the text of a stream that continues an ended task is all of a new task in its context", async () => {
    await using scene = await served(way, agent);
    const first = await scene.client.stream("same", { continue: await scene.client.send("write") }).answer;
    expect(await itemsOf(scene.client.stream("write", { continue: first }).text)).toEqual(["DRAFT"]);
  });
});
