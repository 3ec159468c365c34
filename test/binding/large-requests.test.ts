import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { AdmittedCall } from "../../src/binding/service.js";
import { data, text } from "../../src/protocol/parts.js";
import { echo, inPlace, serviceOf } from "../support/echo-service.js";
import { grpcAgent } from "../support/grpc-agent.js";
import { httpAgent, httpBindings } from "../support/http-agent.js";
import { validRequest } from "../support/valid-request.js";

// Requests of about a megabyte in shapes that cost most to read. Nothing of them may be read outside of the caller's turn,
// and what can be divided is.

const members = (count: number, from = 0): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${from + n}`, 1]));

const nestedObjects = (): JsonObject => {
  let object = members(1500);
  for (let level = 1; level < 50; level++) object = { ...members(1500, level * 1500), inner: object };
  return object;
};

const send = validRequest("sendMessage");
const withMessage = (changes: object) => ({ ...send, message: { ...send.message, ...changes } }) as typeof send;

const shapes: Readonly<Record<string, () => typeof send>> = {
  "metadata of many names": () => withMessage({ metadata: members(90_000) }),
  "data of many names": () => withMessage({ parts: [data(members(90_000))] }),
  "names in names": () => withMessage({ metadata: nestedObjects() }),
  "long names": () =>
    withMessage({ metadata: Object.fromEntries(Object.keys(members(1000)).map((key) => [key.padEnd(1000, "x"), 1])) }),
  "a list of numbers": () => withMessage({ parts: [data(Array(240_000).fill(1))] }),
  "many small texts": () => withMessage({ parts: [data(Object.keys(members(100_000)))] }),
  "many parts": () => withMessage({ parts: Array.from({ length: 250 }, (_, n) => text(`${n}`.padEnd(4000, "x"))) }),
  "text of many bytes a character": () => withMessage({ parts: [text("ß漢😀".repeat(100_000))] }),
};

/** A service that counts the steps of large work. */
function countingService() {
  const counts: number[] = [];
  const work: AdmittedCall["work"] = async (steps) => {
    for (let count = 1; ; count++) {
      const { done, value } = steps.next();
      if (done !== true) continue;
      counts.push(count);
      return value;
    }
  };
  const service = serviceOf({ sendMessage: async (request) => echo(request) }, { enter: () => inPlace({ work }) });
  return { service, counts };
}

describe.each(Object.entries(shapes))("a large request with %s", (_, make) => {
  it.each(httpBindings)(
    "a large request is parsed, read and measured in steps over %s, and answered in pieces",
    async (binding) => {
      const { service, counts } = countingService();
      await using served = await httpAgent(service);
      await served.clients[binding].sendMessage(make(), {});
      const [parsing, reading, ...replies] = counts;
      expect([parsing, reading]).toEqual([1, 2]);
      const request = make();
      const echoes = (request.message?.parts ?? []).some(
        ({ content }) => JSON.stringify(content.value ?? "").length > 1e5,
      );
      if (echoes) expect(Math.max(...replies)).toBeGreaterThan(5);
    },
  );

  it("a large request is read and measured in steps over gRPC", async () => {
    const { service, counts } = countingService();
    await using served = await grpcAgent(service);
    await served.client.sendMessage(make(), {});
    expect(counts[0]).toBe(2);
  });
});
