import { beforeAll, expect, it } from "vitest";
import { createExample, type Project } from "../package/project.js";

let project: Project;
beforeAll(async () => {
  project = await createExample("openai-agents");
});

it("an agent on the OpenAI Agents SDK streams its model, remembers the conversation, and stops the model", async () => {
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
