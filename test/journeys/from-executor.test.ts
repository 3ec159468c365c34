import { beforeAll, expect, it } from "vitest";
import { createExample, type Project } from "../package/project.js";

let project: Project;
beforeAll(async () => {
  project = await createExample("from-executor");
});

it("an executor of @a2a-js/sdk asks, streams and stops, and its tasks survive a crash of the server", async () => {
  const server = await project.start("server.ts");
  const { code, output } = await project.run(process.execPath, "client.ts", server.url);
  expect(output.split("\n")).toEqual([
    "input-required Which harbour?",
    "working Asking Emden",
    "3:10 high water",
    "9:10 low water",
    "15:10 high water",
    "21:10 low water",
    "completed Tides of Emden",
    "canceled Stopped",
    "",
  ]);
  expect(code).toBe(0);
  await server.stop("SIGKILL");
  const again = await project.start("server.ts");
  const listed = await fetch(`${again.url}/http-json/tasks`, { headers: { "A2A-Version": "1.0" } });
  const { tasks } = (await listed.json()) as {
    readonly tasks: readonly { readonly status: { readonly state: string } }[];
  };
  expect(tasks.map(({ status }) => status.state).toSorted()).toEqual(["TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"]);
  await again.stop();
});
