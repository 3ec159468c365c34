import { describe, expect, it } from "vitest";
import { ConnectionError, type ErrorCode } from "../../../src/protocol/errors.js";
import { garbage, http1Bytes, http2Bytes, httpAnswers } from "../../support/fault-answers.js";
import type { Rule } from "../../support/fault-schedule.js";
import { leftOpen, openHandles } from "../../support/leaks.js";
import { say } from "../../support/say.js";
import { reading, sending, streaming } from "./operations.js";
import type { Swept } from "./sweep.js";
import {
  bareWires,
  inTime,
  isHttp,
  type Outcome,
  outcomeOf,
  type Spoilable,
  spoilableAgent,
  transportAt,
} from "./through-proxy.js";

const operations: readonly ((agent: Spoilable) => Swept<unknown> | Promise<Swept<unknown>>)[] = [
  reading,
  sending,
  streaming,
];

/**
 * Calls each operation once under a rule, asserting that no reply is valid, the agent never runs, and nothing stays
 * open.
 */
async function outcomes(agent: Spoilable, rule: Rule): Promise<Outcome<unknown>[]> {
  const results: Outcome<unknown>[] = [];
  for (const sweptOf of operations) {
    const swept = await sweptOf(agent);
    const { runs } = agent;
    const before = openHandles();
    {
      await using proxy = await agent.proxy([rule]);
      await using transport = transportAt(agent.wire, proxy.port);
      results.push(await outcomeOf(swept.call(transport, new AbortController().signal)));
    }
    expect(agent.runs).toBe(runs);
    expect(await leftOpen(before)).toEqual({});
  }
  return results;
}

const nothing = { reply: undefined, lines: [] };

const strangers: readonly (readonly [name: string, rule: Rule])[] = [
  ["ends at once", { kind: "close" }],
  ["resets at once", { kind: "reset" }],
  ["says garbage and ends", { kind: "raw", bytes: garbage(200) }],
  ["says garbage and resets", { kind: "raw", bytes: garbage(200, 2), ending: "reset" }],
  ["says garbage and stays", { kind: "raw", bytes: garbage(200, 3), ending: "open" }],
];

const statusCodes: Readonly<Record<keyof typeof httpAnswers, ErrorCode>> = {
  notFound: "methodNotFound",
  methodNotAllowed: "methodNotAllowed",
  unsupportedMediaType: "unsupportedMediaType",
  notImplemented: "methodNotFound",
  tooManyRequests: "resourceExhausted",
  unavailable: "unavailable",
  errorPage: "internalError",
  page: "invalidAgentResponse",
};

describe.each(bareWires)("over %s, when something else answers,", (wire) => {
  it("a refused connection reports that nothing of the call was written", async () => {
    await using agent = await spoilableAgent(wire);
    for (const outcome of await outcomes(agent, { kind: "refuse" })) {
      expect(outcome).toMatchObject({ ...nothing, error: { code: "unavailable", written: false } });
    }
  });

  it.each(strangers)("a peer that %s is a connection that failed", async (_, rule) => {
    await using agent = await spoilableAgent(wire);
    for (const outcome of await outcomes(agent, rule)) {
      expect(outcome).toMatchObject({ ...nothing, error: expect.any(ConnectionError) });
    }
  });

  it("a peer that speaks another HTTP gives one error", async () => {
    await using agent = await spoilableAgent(wire);
    for (const bytes of [http1Bytes, http2Bytes]) {
      const results = await outcomes(agent, { kind: "raw", bytes });
      const isAnswered = isHttp(wire) && bytes === http1Bytes;
      const error = isAnswered ? { metadata: { httpStatus: "400" } } : expect.any(ConnectionError);
      for (const outcome of results) expect(outcome).toMatchObject({ ...nothing, error });
    }
  });

  it.each(Object.entries(httpAnswers))(
    "an HTTP error is distinguished from an agent's error: %s",
    async (name, answer) => {
      await using agent = await spoilableAgent(wire);
      for (const outcome of await outcomes(agent, { kind: "answer", answer })) {
        expect(outcome).toMatchObject({ ...nothing, error: expect.any(Error) });
        const { error } = outcome;
        if (answer.status !== 200) expect(error?.metadata).toEqual({ httpStatus: String(answer.status) });
        if (!isHttp(wire)) continue;
        expect(error?.code).toBe(statusCodes[name as keyof typeof httpAnswers]);
        expect(error?.retryAfterMs).toBe(name === "tooManyRequests" ? 7000 : undefined);
      }
    },
  );

  it("a call to a silent peer ends when the caller aborts or its time is over", async () => {
    await using agent = await spoilableAgent(wire);
    const { call } = await reading(agent);
    const before = openHandles();
    {
      await using proxy = await agent.proxy([{ kind: "hang" }]);
      await using transport = transportAt(wire, proxy.port);
      const caller = new AbortController();
      const reason = new Error("enough");
      const answer = call(transport, caller.signal) as Promise<unknown>;
      const rejection = expect(inTime(answer)).rejects.toBe(reason);
      await inTime(proxy.waitForBytes("request", 1));
      caller.abort(reason);
      await rejection;
      const late = transport.sendStreamingMessage(say("go"), { timeoutMs: 50 });
      expect(await outcomeOf(late)).toMatchObject({ ...nothing, error: { code: "deadlineExceeded" } });
      await transport.close?.();
      await inTime(proxy.idle());
    }
    expect(await leftOpen(before)).toEqual({});
  });
});
