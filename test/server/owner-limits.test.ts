import { inputRequired, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { defaultLimits, resolveLimits } from "../../src/server/limits.js";
import { postJson } from "../support/http-agent.js";

const ownerLimits = (Object.keys(resolveLimits()) as (keyof ReturnType<typeof resolveLimits>)[]).filter((name) =>
  /Owner|Principal/.test(name),
);

async function fill(limits: object, authenticate: boolean) {
  await using server = await serve({
    card: { name: "Asking", description: "Asks", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    limits,
    ...(authenticate && { authenticate: () => ({ owner: "alice" }) }),
    agent: async () => inputRequired("which one?"),
  });
  const answers: Awaited<ReturnType<typeof postJson>>[] = [];
  for (let count = 0; count < 4; count++) {
    const message = { messageId: `m${count}`, role: "ROLE_USER", parts: [{ text: "go" }] };
    const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    answers.push(await postJson(`${server.url}/json-rpc`, call));
  }
  return answers;
}

describe("the limits of one owner", () => {
  it("the limits of one owner refuse a task beyond the quota with HTTP 429, and the name of the limit", async () => {
    const answers = await fill({ tasksPerOwner: 2 }, true);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(answers[3]?.text).toContain("tasksPerOwner");
    expect(answers[3]?.headers["retry-after"]).toBe("60");
  });

  it("the limits of one owner apply without authenticate only when they are given", async () => {
    expect((await fill({ tasksPerOwner: 2 }, false)).map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    const none = Number.POSITIVE_INFINITY;
    expect(resolveLimits({}, false)).toMatchObject({ tasksPerOwner: none, readsPerOwner: none });
    expect(resolveLimits({}, true)).toMatchObject({ tasksPerOwner: 10_000, readsPerOwner: 4 });
  });

  it.each(ownerLimits)("the limit of one owner %s is lifted where callers cannot be distinguished", (name) => {
    expect(resolveLimits({}, false)[name]).toBeGreaterThan(Number(resolveLimits({}, true)[name]));
    if (name in defaultLimits) expect(resolveLimits({ [name]: 3 }, false)[name]).toBe(3);
  });
});
