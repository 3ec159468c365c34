import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import type { Task } from "../../src/protocol/model.js";
import { type RunningExample, startExample } from "../support/example.js";
import { lineOf, opened, readUntil, stateOf, taskOf, textIn } from "../support/say.js";

let folder: string;
const running: RunningExample[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-durable-"));
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function start(soundingMs: number): Promise<RunningExample> {
  const example = await startExample("durable", {
    STORE: join(folder, "tasks.db"),
    SOUNDING_MS: String(soundingMs),
  });
  running.push(example);
  return example;
}

const all = "Buoy 1: 11 m. Buoy 2: 10 m. Buoy 3: 9 m. Buoy 4: 8 m. Buoy 5: 7 m. ";
const soundings = (task: Task): string => textIn(task.artifacts[0]?.parts);

it("durable resumes a survey whose process was killed", async () => {
  const first = await start(300);
  await using before = await Client.connect(first.url);
  const stream = await opened(before.stream("the fairway to Emden"));
  const seen = await readUntil(stream.iterator, (line) => line.includes("Buoy 2"));
  const { id } = taskOf(stream.first.response);
  await first.stop("SIGKILL");

  const second = await start(300);
  await using after = await Client.connect(second.url);
  const stored = await after.getTask({ id });
  expect(stateOf(stored)).toBe("WORKING");
  expect(soundings(stored).startsWith("Buoy 1: 11 m. Buoy 2: 10 m. ")).toBe(true);
  // The lease of the dead process must expire first.
  const rest: string[] = [];
  for await (const item of after.subscribeToTask({ id }, { after: seen.at(-1)?.id })) rest.push(lineOf(item));
  expect(rest.at(-1)).toBe("status COMPLETED");
  const done = await after.getTask({ id });
  expect(soundings(done)).toBe(all);
  expect(done.history.map(({ parts }) => textIn(parts))).toContain("Surveying the fairway to Emden, attempt 1");
});

it("durable lets a survey end on SIGTERM, refuses new ones meanwhile, and exits with 0", async () => {
  const first = await start(300);
  await using client = await Client.connect(first.url);
  const stream = await opened(client.stream("the fairway to Emden"));
  await readUntil(stream.iterator, (line) => line.includes("Buoy 1"));
  const stopped = first.stop("SIGTERM");
  await expect.poll(async () => (await fetch(`${first.url}/readyz`)).status).toBe(503);
  const refused = await fetch(`${first.url}/http-json/message:send`, {
    method: "POST",
    headers: { "Content-Type": "application/a2a+json", "A2A-Version": "1.0" },
    body: JSON.stringify({ message: { messageId: "late", role: "ROLE_USER", parts: [{ text: "the Jade" }] } }),
  });
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await stream.rest()).at(-1)).toBe("status COMPLETED");
  expect(await stopped).toBe(0);

  const second = await start(0);
  await using after = await Client.connect(second.url);
  const { tasks } = await after.listTasks({ includeArtifacts: true });
  expect(tasks.map(({ id }) => id)).toEqual([taskOf(stream.first.response).id]);
  expect(tasks.map(soundings)).toEqual([all]);
});
