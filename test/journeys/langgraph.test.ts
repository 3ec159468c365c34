import { beforeAll, expect, it } from "vitest";
import { createExample, type Project } from "../package/project.js";

let project: Project;
beforeAll(async () => {
  project = await createExample("langgraph");
});

it("an agent on LangGraph asks when its graph interrupts, and resumes the graph with the answer", async () => {
  const server = await project.start("server.ts");
  const { code, output } = await project.run(process.execPath, "client.ts", server.url);
  expect(output.split("\n")).toEqual([
    "a letter in 18 tokens: We arrive at noon.",
    "input-required: Shall I send this letter? be more polite",
    "We would like to arrive at noon, if you please.",
    "input-required: Shall I send this letter? yes",
    "We would like to arrive at noon, if you please.",
    "completed",
    "",
  ]);
  expect(code).toBe(0);
  await server.stop();
});
