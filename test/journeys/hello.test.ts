import { readFileSync } from "node:fs";
import { Client } from "trivium/client";
import { beforeAll, expect, it } from "vitest";
import { createProject, type Project } from "../package/project.js";

let project: Project;
beforeAll(async () => {
  project = await createProject("typescript@7");
  for (const file of ["server.ts", "server.js"])
    await project.write(file, readFileSync(`examples/hello/${file}`, "utf8"));
});

it.each(["server.ts", "server.js"])("the example hello runs as %s in an empty project", async (file) => {
  const server = await project.start(file);
  expect(server.printed).toBe(`Echo listens at ${server.url}\n`);
  await using client = await Client.connect(server.url);
  expect((await client.send("good morning")).text).toBe("good morning");
  await server.stop();
});

it("the example hello compiles with the settings of `tsc --init`", async () => {
  const tsc = (option: string) => project.run(process.execPath, "node_modules/typescript/bin/tsc", option);
  expect(await tsc("--init")).toMatchObject({ code: 0 });
  expect(await tsc("--noEmit")).toEqual({ code: 0, output: "" });
});
