import { expect, it } from "vitest";
import { A2AError } from "../../../src/protocol/errors.js";
import { emptyTask } from "../../../src/protocol/fold.js";
import type { Message, StreamResponse, Task } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { collect } from "../../support/answers.js";
import { historyOf, stateOf, textIn } from "../../support/say.js";
import { chunk, messageEvent, status, taskEvent } from "../stream/resuming-events.js";

const task = (): Task => emptyTask("t", "c");

async function* streamOf(...responses: readonly StreamResponse[]): AsyncGenerator<StreamItem> {
  for (const response of responses) yield { response };
}

function isTask(collected: Message | Task): asserts collected is Task {
  expect(collected.$typeName).toBe("lf.a2a.v1.Task");
}

it("collecting a stream assembles the artifacts and the history of a task", async () => {
  const collected = await collect(
    streamOf(
      taskEvent(task()),
      status("WORKING", "thinking"),
      chunk("one ", false),
      chunk("other", false, "b"),
      chunk("two"),
      status("COMPLETED", "done"),
    ),
  );
  isTask(collected);
  expect(stateOf(collected)).toBe("COMPLETED");
  expect(collected.artifacts.map(({ artifactId, parts }) => [artifactId, textIn(parts)])).toEqual([
    ["a", "one two"],
    ["b", "other"],
  ]);
  expect(historyOf(collected)).toEqual(["agent: thinking"]);
  expect(textIn(collected.status?.message?.parts)).toBe("done");
});

it("collecting a stream returns the message of an agent that answers with one", async () => {
  const collected = await collect(streamOf(messageEvent("hi")));
  expect(collected.$typeName).toBe("lf.a2a.v1.Message");
  expect(textIn("parts" in collected ? collected.parts : undefined)).toBe("hi");
});

it("collecting a stream replaces everything before a whole task with that task", async () => {
  const replaced = { ...task(), artifacts: [] };
  const collected = await collect(
    streamOf(taskEvent(task()), chunk("lost", false), taskEvent(replaced), chunk("kept")),
  );
  isTask(collected);
  expect(collected.artifacts.map(({ parts }) => textIn(parts))).toEqual(["kept"]);
});

it("collecting a stream makes a task from events without one", async () => {
  const collected = await collect(streamOf(status("WORKING"), chunk("one")));
  isTask(collected);
  expect([collected.id, collected.contextId, stateOf(collected)]).toEqual(["t", "c", "WORKING"]);
});

it("collecting a stream leaves its events unchanged", async () => {
  const first = taskEvent(task());
  const part = chunk("one ", false);
  await collect(streamOf(first, part, chunk("two")));
  expect(first).toEqual(taskEvent(task()));
  expect(part).toEqual(chunk("one ", false));
});

it("collecting a stream skips unknown events", async () => {
  const unknown: StreamResponse = { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: undefined } };
  isTask(await collect(streamOf(unknown, taskEvent(task()), unknown)));
});

it("collecting a stream refuses one without an event", async () => {
  await expect(collect(streamOf())).rejects.toMatchObject({ code: "invalidAgentResponse" });
});

it("collecting a stream rethrows its error", async () => {
  const error = new A2AError("unavailable", "gone");
  async function* broken(): AsyncGenerator<StreamItem> {
    yield { response: taskEvent(task()) };
    throw error;
  }
  await expect(collect(broken())).rejects.toBe(error);
});
