import { afterEach, expect, it } from "vitest";
import { type RunningExample, runExample, startExample } from "../support/example.js";

const running: RunningExample[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
});

const untilRefused = [
  "butter and bread (40 tokens left)",
  "butter and bread (0 tokens left)",
  "refused: the token budget of this caller is used up: the limit is 100/day (rate.owner.tokens)",
  "",
].join("\n");

it("the example rate-limits answers each caller until its own budget is used up", async () => {
  const agent = await startExample("rate-limits");
  running.push(agent);
  expect(await runExample("rate-limits", [agent.url, "key-of-ann"])).toBe(untilRefused);
  expect(await runExample("rate-limits", [agent.url, "key-of-ben"])).toBe(untilRefused);
  expect(await runExample("rate-limits", [agent.url, "key-of-ann"])).toBe(
    "refused: the token budget of this caller is used up: the limit is 100/day (rate.owner.tokens)\n",
  );
});
