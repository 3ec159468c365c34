import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { reply } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setOwn } from "../../../src/protocol/codec/outline/dynamic.js";
import { findOperation, operations } from "../../../src/protocol/operations.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { httpEnds } from "../../support/http-ends.js";
import { grpcOutcome, rawGrpc } from "../../support/raw-grpc.js";
import { httpLine, json, rawHttpJson, rawJsonRpc } from "../../support/raw-http.js";
import { expectCallersFault, expectNoInternals, type RawWire } from "../../support/raw-wire.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";
import { fullRequest } from "../../support/spoiled-request.js";
import { tries } from "../../support/tries.js";

// Random requests, which must never cause an internal error.

let served: ServedAgent;

beforeAll(async () => {
  served = await startAgent("JSONRPC", { push: { allow: "loopback" }, agent: async () => reply("taken") });
});

afterAll(() => served[Symbol.asyncDispose]());

/** Every name in the protocol's requests, and some unknown names. */
const names = [
  ...new Set(operations.flatMap(({ input }) => namesIn(fullRequest(input)))),
  ...["task_id", "context_id", "kind", "__proto__", "constructor", "toString", "\ud800", ""],
];

function namesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [...(Array.isArray(value) ? [] : [name]), ...namesIn(inner)]);
}

const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    "",
    "x",
    "ROLE_USER",
    "TASK_STATE_WORKING",
    "AAEC",
    "\ud800",
    "💥",
  ),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("tree"), { maxLength: 3 }),
    fc.array(fc.tuple(fc.constantFrom(...names), tie("tree")), { maxLength: 5 }).map(objectOf),
  ),
}));

function objectOf(entries: readonly (readonly [string, unknown])[]): JsonObject {
  const object: JsonObject = {};
  for (const [name, value] of entries) setOwn(object, name, value as JsonObject);
  return object;
}

/** A request that is valid except for one or two members. */
const nearly = fc
  .tuple(
    fc.constantFrom(...operations),
    fc.array(fc.tuple(fc.constantFrom(...names), tree), { minLength: 1, maxLength: 2 }),
  )
  .map(([operation, entries]) => ({ operation, request: { ...fullRequest(operation.input), ...objectOf(entries) } }));

const wild = fc
  .tuple(fc.constantFrom(...operations), fc.array(fc.tuple(fc.constantFrom(...names), tree), { maxLength: 6 }))
  .map(([operation, entries]) => ({ operation, request: objectOf(entries) }));

const wires: Readonly<Record<string, (port: number) => RawWire>> = {
  "JSON-RPC": rawJsonRpc,
  "HTTP+JSON": rawHttpJson,
  gRPC: rawGrpc,
};

describe.each(Object.entries(wires))("over %s", (_, open) => {
  it("a random request is answered in the binding's format, and never as an agent fault", async () => {
    using wire = open(served.server.port);
    const answered = async ({
      operation,
      request,
    }: typeof wild extends fc.Arbitrary<infer T> ? T : never): Promise<void> => {
      const spoiled = { title: "random", fault: "random", member: "", json: request, names: undefined };
      const [field] = operation.input.fields;
      const call = field === undefined ? undefined : wire.withFault(operation, { ...spoiled, field });
      if (call !== undefined) expectCallersFault(await call.send());
    };
    await fc.assert(fc.asyncProperty(fc.oneof(nearly, wild), answered), { numRuns: tries(100, 2_000) });
    expect((await wire.call(findOperation("listTasks"), { pageSize: 1 })).error).toBeUndefined();
  });
});

/** A text with pieces removed, doubled or replaced. */
const mangled = (good: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.nat(good.length), fc.nat(10), fc.string({ maxLength: 5 })), { minLength: 1, maxLength: 4 })
    .map((cuts) =>
      cuts.reduce((text, [at, length, piece]) => text.slice(0, at) + piece + text.slice(at + length), good),
    );

it.each(httpEnds)("a mangled body over $name is answered in its format", async ({ target, body }) => {
  using line = httpLine(served.server.port);
  const text = fc.oneof(mangled(body), fc.string({ maxLength: 200 }), fc.json());
  await fc.assert(
    fc.asyncProperty(text, async (input) => {
      const answer = await line.ask({ target, headers: json, body: input });
      expect(answer.status).toBeLessThan(500);
      expect(JSON.parse(answer.text)).toEqual(expect.any(Object));
      expectNoInternals(answer.text);
      expect(answer.text).not.toMatch(/"code":-32603|"INTERNAL"/);
    }),
    { numRuns: tries(80, 1_500) },
  );
});

it("mangled bytes over gRPC are answered in its format", async () => {
  using session = rawSession(served.server.grpcPort);
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    mangled("\n\u0001m\u0012\u0005hello\u0018\u0001").map(Buffer.from),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...operations), bytes, async ({ method }, input) => {
      expectCallersFault(grpcOutcome(await session.call(method, frame(input))));
    }),
    { numRuns: tries(100, 2_000) },
  );
});

it("no bad request is logged as a server fault", () => {
  expect(served.log.filter(({ level }) => level === "error")).toEqual([]);
});
