import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "trivium";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RunningExample, runExample, startExample } from "../support/example.js";
import { textIn } from "../support/say.js";

let folder: string;
let server: RunningExample;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "trivium-approval-"));
  await start();
});
afterEach(async () => {
  await server.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

async function start(): Promise<void> {
  server = await startExample("approval", { STORE: join(folder, "bookings.db") });
}

it.each([
  { signal: "SIGKILL", answer: "yes", last: "completed: Berth N4 is booked for MV Alba, 2 nights.", code: null },
  { signal: "SIGTERM", answer: "no", last: "rejected: Nothing is booked.", code: 0 },
] as const)("the example approval takes the answer $answer after a restart with $signal", async (expected) => {
  const [first, question = ""] = (await runExample("approval", [server.url, "MV Alba"])).split("\n");
  expect(first).toBe("input-required: For how many nights?");
  const [second] = (await runExample("approval", [server.url, "2", question])).split("\n");
  expect(second).toBe("input-required: Berth N4 costs 240 €. Shall I book it for MV Alba?");

  expect(await server.stop(expected.signal)).toBe(expected.code);
  await start();
  expect(await runExample("approval", [server.url, expected.answer, question])).toBe(`${expected.last}\n`);

  await using client = await Client.connect(server.url);
  const { history } = await client.getTask({ id: (JSON.parse(question) as { readonly taskId: string }).taskId });
  const texts = history.map(({ parts }) => textIn(parts));
  expect(texts.filter((text) => text.endsWith("?"))).toEqual([
    "For how many nights?",
    "Berth N4 costs 240 €. Shall I book it for MV Alba?",
  ]);
  expect(texts).toContain("looking at the berths again");
});
