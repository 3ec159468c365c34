import { Client } from "trivium/client";
import { beforeAll, expect, it } from "vitest";
import { createExample, type Project } from "../package/project.js";

let project: Project;
beforeAll(async () => {
  project = await createExample("langchain");
});

it("an agent on a chat model of LangChain streams, remembers the conversation, and stops", async () => {
  const server = await project.start("server.ts");
  await using client = await Client.connect(server.url);
  const stream = client.stream("we are the Alba");
  const tokens = [];
  for await (const token of stream.text) tokens.push(token);
  expect(tokens.length).toBeGreaterThan(5);
  expect(tokens.join("")).toBe("I was given 1.");
  const second = await client.send("which berth is free?", { continue: await stream.answer });
  expect(second.text).toBe("I was given 3.");
  const endless = client.stream("wait");
  let artifactCount = 0;
  for await (const event of endless) {
    if (event.type === "artifact" && ++artifactCount === 3) await client.cancelTask({ id: event.taskId });
  }
  expect((await endless.answer).state).toBe("canceled");
  await server.stop();
});
