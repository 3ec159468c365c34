import { afterEach, expect, it } from "vitest";
import { type RunningExample, startProgram, watchProgram } from "../support/example.js";

const running: RunningExample[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
});

async function start(file: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const agent = await startProgram(`examples/two-agents/${file}`, { env });
  running.push(agent);
  return agent.url;
}

it("the example two-agents streams, asks, fails and cancels through one agent to another", async () => {
  const tides = await start("tides.ts", { WORD_MS: "150" });
  const harbor = await start("harbor.ts", { TIDES: tides });
  const { code, output } = await watchProgram("examples/two-agents/client.ts", [harbor, tides]).result;
  expect(output.split("\n")).toEqual([
    ...["Question ", "1: ", "high ", "water ", "in ", "Emden ", "is ", "at ", "four."],
    "Question 2: high water in Norden is at four.",
    "input-required Which harbor?",
    "Question 4: high water in Jade is at four.",
    "invalidParams there is no harbor of that name",
    "canceled",
    "canceled",
    "",
  ]);
  expect(code).toBe(0);
});
