import { Client } from "trivium/client";
import { beforeAll, expect, it } from "vitest";
import { createExample, type Project } from "../package/project.js";

let project: Project;
beforeAll(async () => {
  project = await createExample("ai-sdk");
});

it("an agent on the AI SDK streams its model, remembers the conversation, and stops the model", async () => {
  const server = await project.start("server.ts");
  const { code, output } = await project.run(process.execPath, "client.ts", server.url);
  expect(output.split("\n")).toEqual([
    "You |said: |we |are |the |Alba",
    "You said: we are the Alba, then which berth is free?",
    "canceled",
    "failed [ 'You said: please ' ]",
    "",
  ]);
  expect(code).toBe(0);
  expect(server.printed).toContain("the model was stopped: AbortError: the turn was aborted: Canceled\n");
  await server.stop();
});

it("an agent on the AI SDK shows the calls of its tools as progress, and their results as artifacts", async () => {
  const server = await project.start("tools.ts");
  await using client = await Client.connect(server.url);
  const stream = client.stream("When is high water in Emden?");
  const progress: string[] = [];
  for await (const event of stream) if (event.type === "status" && event.text !== "") progress.push(event.text);
  expect(progress).toEqual(["calling tide"]);
  const answer = await stream.answer;
  expect(answer.artifacts.map(({ name, text }) => [name, text])).toEqual([
    ["tide", ""],
    ["answer", "High water is at 16:58."],
  ]);
  expect(answer.data()).toEqual({ harbor: "Emden", high: "16:58" });
  await server.stop();
});
