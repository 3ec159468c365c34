import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { createProject } from "../package/project.js";

it("the command line serves, sends, calls, stands in for and looks after an agent", async () => {
  const project = await createProject();
  await project.write("tour.sh", readFileSync("examples/command-line/tour.sh", "utf8"));
  const { code, output } = await project.run("bash", "-c", "PORT=41380 TRIVIUM_LOG=silent bash tour.sh 2>&1");
  expect(output.split("\n")).toEqual([
    "== card",
    '"name":"Text Analyst"',
    "== send",
    "- 6 words",
    "- 3 words",
    "== call",
    '"totalSize":2',
    "6",
    "taskNotFound: Task not found",
    "exit code 1",
    "== gateway",
    "- 3 words",
    "== db",
    '"pending":[]',
    '"tasks":4',
    "",
  ]);
  expect(code).toBe(0);
});
