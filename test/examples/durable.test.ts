import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import type { Task } from "../../src/protocol/model.js";
import { type RunningExample, runExample, startExample } from "../support/example.js";
import { lineOf, openStream, readUntil, stateOf, taskOf, textIn } from "../support/say.js";

let folder: string;
const running: RunningExample[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-durable-"));
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function start(wordMs: number): Promise<RunningExample> {
  const example = await startExample("durable", { STORE: join(folder, "tasks.db"), WORD_MS: String(wordMs) });
  running.push(example);
  return example;
}

const all = [
  "High water at Emden is at 04:31 and 16:58, low water at 10:44 and 23:07.",
  "The wind turns west in the afternoon and freshens to force 6.",
  "Small craft should be in port by 15:00.",
].join("\n");
const report = (task: Task): string => textIn(task.artifacts[0]?.parts);

it("the example durable continues a report behind the words that were stored when its process was killed", async () => {
  const first = await start(100);
  await using before = await Client.connect(first.url);
  const stream = await openStream(before.stream("Write the report."));
  const items = await readUntil(stream.iterator, (line) => line.includes("Emden"));
  const { id } = taskOf(stream.firstItem.response);
  await first.stop("SIGKILL");

  const second = await start(10);
  await using after = await Client.connect(second.url);
  const task = await after.getTask({ id });
  expect(stateOf(task)).toBe("WORKING");
  expect(report(task)).toMatch(/^High water at Emden/);
  // The lease of the dead process must expire first.
  const rest: string[] = [];
  for await (const item of after.subscribeToTask({ id }, { after: items.at(-1)?.id })) rest.push(lineOf(item));
  expect(rest.at(-1)).toBe("status COMPLETED");
  const done = await after.getTask({ id });
  expect(report(done)).toBe(all);
});

it("the client of durable prints the report once", async () => {
  const { url } = await start(0);
  expect(await runExample("durable", [url])).toBe(`${all}\n`);
});

it("the example durable lets a report end on SIGTERM, refuses new ones meanwhile, and exits with 0", async () => {
  const first = await start(20);
  await using client = await Client.connect(first.url);
  const stream = await openStream(client.stream("Write the report."));
  await readUntil(stream.iterator, (line) => line.includes("Emden"));
  const stopped = first.stop("SIGTERM");
  await expect.poll(async () => (await fetch(`${first.url}/readyz`)).status).toBe(503);
  const refused = await fetch(`${first.url}/http-json/message:send`, {
    method: "POST",
    headers: { "Content-Type": "application/a2a+json", "A2A-Version": "1.0" },
    body: JSON.stringify({ message: { messageId: "late", role: "ROLE_USER", parts: [{ text: "Write another." }] } }),
  });
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await stream.readRest()).at(-1)).toBe("status COMPLETED");
  expect(await stopped).toBe(0);

  const second = await start(0);
  await using after = await Client.connect(second.url);
  const { tasks } = await after.listTasks({ includeArtifacts: true });
  expect(tasks.map(({ id }) => id)).toEqual([taskOf(stream.firstItem.response).id]);
  expect(tasks.map(report)).toEqual([all]);
});
