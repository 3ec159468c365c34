import { completed, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { defaultLimits, limitPairs, limitProblems, resolveLimits } from "../../src/server/limits.js";

const card = { name: "Limited", description: "Has limits", version: "1" };
const start = (limits: object) => serve({ card, agent: async () => completed(), port: 0, logger: false, limits });

describe.each(limitPairs)("$lower beside $upper", ({ lower, upper, factor = 1, part }) => {
  const [less, more] = [Number(defaultLimits[lower]), Number(defaultLimits[upper])];

  it("a pair of limits has defaults that agree", () => {
    expect(less * factor).toBeLessThanOrEqual(more);
  });

  it("a pair of limits in contradiction is refused at the start, with both values and the remedy", async () => {
    const tooLarge = more / factor + 1;
    const error: unknown = await start({ [lower]: tooLarge, [upper]: more }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(TypeError);
    const { message } = error as TypeError;
    for (const text of [
      `limits.${lower} (${tooLarge})`,
      `${upper}`,
      `(${more})`,
      `at most ${more / factor}`,
      `at least ${tooLarge * factor}`,
    ]) {
      expect(message).toContain(text);
    }
    expect(limitProblems({ [lower]: more / factor, [upper]: more })).toEqual([]);
  });

  it("a limit left at its default gives way to the one that is given", () => {
    const small = resolveLimits({ [upper]: less / 2 });
    expect(Number(small[upper])).toBe(less / 2);
    expect(Number(small[lower]) * factor).toBeLessThanOrEqual(less / 2);
    const large = resolveLimits({ [lower]: more * 2 });
    expect(Number(large[lower])).toBe(more * 2);
    expect(Number(large[upper])).toBeGreaterThanOrEqual(more * 2 * factor);
    if (part !== undefined) expect(Number(resolveLimits({ [upper]: more * 10 })[lower])).toBe((more * 10) / part);
  });
});

it("a lease of 2 s alone has a heartbeat of a fifth, and one that is not longer than its heartbeat is refused", async () => {
  expect(resolveLimits({ instanceTtlMs: 2000 }).heartbeatMs).toBe(400);
  await expect(start({ instanceTtlMs: 3000, heartbeatMs: 3000 })).rejects.toThrow(
    "limits.heartbeatMs (3000) is above a third of instanceTtlMs (3000): one late heartbeat would end the lease, and nobody could take over the tasks of a process that has died. Set heartbeatMs to at most 1000, or instanceTtlMs to at least 9000",
  );
});

it("a grace without an age of connections is refused, since it has no effect", async () => {
  await expect(start({ maxConnectionAgeGraceMs: 1000 })).rejects.toThrow(
    "limits.maxConnectionAgeGraceMs has no effect without maxConnectionAgeMs: set that too",
  );
});

describe("a duration", () => {
  const durations = Object.keys(defaultLimits).filter((name) => name.endsWith("Ms") && name !== "eventLoopMaxMs");

  it.each(durations)(
    "the duration %s may be Infinity, which is never, and longer than a timer can wait",
    async (name) => {
      for (const ms of [Number.POSITIVE_INFINITY, 2 ** 31 + 5]) {
        const also = name === "maxConnectionAgeGraceMs" ? { maxConnectionAgeMs: 1e6 } : {};
        await using server = await start({ [name]: ms, ...also });
        expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      }
    },
  );

  it.each(["keepAliveMs", "headerTimeoutMs", "bodyTimeoutMs", "heartbeatMs", "pollMs"])(
    "the duration %s of 0 is refused, since it would be a busy loop or refuse every caller",
    async (name) => {
      await expect(start({ [name]: 0 })).rejects.toThrow(
        `limits.${name} must be 1 or more milliseconds, or Infinity, not 0`,
      );
    },
  );

  it("a duration that is not a number is refused", async () => {
    await expect(start({ graceMs: "5s" })).rejects.toThrow(
      'limits.graceMs must be 0 or more milliseconds, or Infinity, not "5s"',
    );
  });

  it("a duration of silence that never ends sends no comments on an idle stream", async () => {
    const going = Promise.withResolvers<void>();
    await using server = await serve({
      card,
      port: 0,
      logger: false,
      limits: { keepAliveMs: Number.POSITIVE_INFINITY },
      async *agent() {
        yield working();
        await going.promise;
        yield completed();
      },
    });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    const response = await fetch(`${server.url}/http-json/message:stream`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "A2A-Version": "1.0" },
      body: JSON.stringify({ message }),
    });
    const text = response.text();
    for (let calls = 0; calls < 30; calls++) await fetch(`${server.url}/healthz`).then((health) => health.text());
    going.resolve();
    expect(await text).not.toContain(": keep-alive");
  });
});

it("headers have a size that Node takes", async () => {
  await expect(start({ headerMaxBytes: Number.POSITIVE_INFINITY })).rejects.toThrow(
    "limits.headerMaxBytes must be a whole number from 1 to 2147483647, not Infinity",
  );
});
