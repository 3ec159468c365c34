import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RunningExample, runExample, startExample, startProgram } from "../support/example.js";
import { fixedPort } from "../support/fixed-port.js";

const running: RunningExample[] = [];
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-push-"));
});
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function track(started: Promise<RunningExample>): Promise<RunningExample> {
  const program = await started;
  running.push(program);
  return program;
}

const startReceiver = (port: number) =>
  track(startProgram("examples/push/receiver.ts", { env: { PORT: String(port), TOKEN: "a-long-random-token" } }));
const startAgent = () => track(startExample("push", { STORE: join(folder, "tasks.db") }));

const events = ["working sounding the Jade", "depth: the Jade: 11 m", "completed"];
const printedBy = ({ printed }: RunningExample): readonly string[] => printed.split("\n").slice(1, -1);

it("the example push calls the webhook of a caller who has left, which was down at first", async () => {
  const port = await fixedPort();
  const agent = await startAgent();
  const hook = `http://127.0.0.1:${port}/hook`;
  expect(await runExample("push", [agent.url, hook])).toMatch(/^task \S+ is submitted\n$/);
  const receiver = await startReceiver(port);
  await expect.poll(() => printedBy(receiver)).toEqual(events);
});

it("the example push has a receiver that refuses a wrong token", async () => {
  const port = await fixedPort();
  const receiver = await startReceiver(port);
  const refused = await fetch(`http://127.0.0.1:${port}/hook`, { method: "POST", body: "{}" });
  expect(refused.status).toBe(401);
  const agent = await startAgent();
  await runExample("push", [agent.url, `http://127.0.0.1:${port}/hook`]);
  await expect.poll(() => printedBy(receiver)).toEqual(["refused: wrong token", ...events]);
});
