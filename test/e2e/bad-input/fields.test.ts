import { reply, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findOperation, type Operation, operations } from "../../../src/protocol/operations.js";
import { rawGrpc } from "../../support/raw-grpc.js";
import { rawHttpJson, rawJsonRpc } from "../../support/raw-http.js";
import { expectCallersFault, type FaultyCall, type RawOutcome, type RawWire } from "../../support/raw-wire.js";
import { fullRequest, spoiledRequests } from "../../support/spoiled-request.js";

// Every field of every request with every fault, over each binding, in sequence on one connection. The connection still
// serves after each.

const wires = { JSONRPC: rawJsonRpc, "HTTP+JSON": rawHttpJson, GRPC: rawGrpc } as const;

let server: Server;

beforeAll(async () => {
  server = await serve({
    card: { name: "Strict", description: "Takes what is right", version: "1.0.0", extended: { description: "More" } },
    port: 0,
    drainMs: 0,
    versions: ["1.0"],
    authenticate: () => ({ owner: "somebody" }),
    push: { allow: "loopback" },
    agent: async () => reply("taken"),
  });
});

afterAll(() => server.close());

const good = findOperation("listTasks");

async function expectServes(wire: RawWire): Promise<void> {
  expect((await wire.call(good, { pageSize: 1 })).error).toBeUndefined();
}

/** Says what is wrong with the answer to a spoiled request; `undefined` if it is right. */
async function faultOf({ names, send }: FaultyCall): Promise<string | undefined> {
  const outcome: RawOutcome = await send();
  try {
    expectCallersFault(outcome);
  } catch (failure) {
    return String(failure);
  }
  const { error } = outcome;
  if (names === undefined) return undefined;
  const named = error?.violations.map(({ field }) => field) ?? [];
  if (error?.code !== "invalidParams") return `was answered with ${error?.code ?? "success"}: ${error?.message}`;
  if (!named.some((field) => isWithin(field, names))) return `names ${named.join(", ")} instead of ${names}`;
  return named.some((field) => error.message.includes(field))
    ? undefined
    : `has a message without it: ${error.message}`;
}

function isWithin(field: string, path: string): boolean {
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}

describe.each(Object.entries(wires))("over %s", (_, open) => {
  // Requirements: V1-ERR-7, V1-ERR-8, V1-PRES-2, V1-PRES-3, V1-PART-1, V1-PART-2, V1-SEC-23
  it.each(operations.map((operation) => [operation.method, operation] as const))(
    "the error of %s names whatever field is wrong, and never blames the server",
    async (_name, operation: Operation) => {
      using wire = open(server.port);
      const faults: string[] = [];
      let callCount = 0;
      for (const spoiled of spoiledRequests(operation.input)) {
        const call = wire.withFault(operation, spoiled);
        if (call === undefined) continue;
        callCount++;
        const fault = await faultOf(call);
        if (fault !== undefined) faults.push(`${spoiled.title}: ${fault}`);
        await expectServes(wire);
      }
      expect(faults).toEqual([]);
      expect(callCount).toBeGreaterThanOrEqual(operation.input.fields.length);
    },
  );

  it.each(operations.map((operation) => [operation.method, operation] as const))(
    "%s with every field filled in is no bad input",
    async (_name, operation: Operation) => {
      using wire = open(server.port);
      const { error } = await wire.call(operation, fullRequest(operation.input));
      expect([undefined, "taskNotFound"]).toContain(error?.code);
    },
  );
});

it("no request changes Object.prototype", () => {
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect("polluted" in {}).toBe(false);
});
