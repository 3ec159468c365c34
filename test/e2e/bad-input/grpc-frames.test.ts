import { gzipSync } from "node:zlib";
import type { JsonObject } from "@bufbuild/protobuf";
import { reply } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { findOperation } from "../../../src/protocol/operations.js";
import { frame, type RawSession, rawSession } from "../../support/grpc-raw.js";
import { encodeLoosely, grpcOutcome } from "../../support/raw-grpc.js";
import { expectCallersFault } from "../../support/raw-wire.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// Bytes and headers that no gRPC client would send, in sequence on one connection.

const maxBytes = 16 * 1024;
let served: ServedAgent;
let session: RawSession;
/** A server that does not wait long for a message. A busy process may miss that time, also with a good message. */
let impatient: ServedAgent;
let impatientSession: RawSession;
let turns = 0;

beforeAll(async () => {
  const agent = async () => {
    turns++;
    return reply("done");
  };
  served = await startAgent("GRPC", { limits: { contentMaxBytes: maxBytes }, agent });
  impatient = await startAgent("GRPC", { limits: { bodyTimeoutMs: 200 }, agent });
  session = rawSession(served.server.grpcPort);
  impatientSession = rawSession(impatient.server.grpcPort);
});

afterAll(async () => {
  for (const each of [session, impatientSession]) each[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
  await impatient[Symbol.asyncDispose]();
});

beforeEach(() => {
  turns = 0;
});

const encode = (changes: JsonObject): Buffer => {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }], ...changes };
  return Buffer.from(encodeLoosely(findOperation("sendMessage").input, { message }));
};
const good = encode({});

/** A frame with arbitrary flags and length. */
function oddFrame(flags: number, length: number, bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
}

const zipped = (bytes: Uint8Array): Buffer => oddFrame(1, bytes.length, bytes);

async function expectServes(by = session): Promise<void> {
  turns = 0;
  expect((await by.call("SendMessage", frame(good))).status).toBe(0);
  expect([turns, by.session.closed]).toEqual([1, false]);
}

const gzip = { "grpc-encoding": "gzip" };
const large = encode({ parts: [{ text: "x".repeat(maxBytes) }] });

type Refused = [what: string, body: Buffer, code: string, headers?: Record<string, string>];

const refused: Refused[] = [
  ["a message over the limit", frame(large), "contentTooLarge"],
  ["a message that says it has 4 GiB", oddFrame(0, 2 ** 32 - 1, good), "contentTooLarge"],
  [
    "a message that says it is too large, and never comes",
    oddFrame(0, maxBytes + 1, Buffer.alloc(0)),
    "contentTooLarge",
  ],
  ["a message that is too large once unzipped", zipped(gzipSync(Buffer.alloc(10_000_000))), "contentTooLarge", gzip],
  ["a message that is no gzip", zipped(good), "parseError", gzip],
  ["a message that is no deflate", zipped(good), "parseError", { "grpc-encoding": "deflate" }],
  ["no message", Buffer.alloc(0), "invalidRequest"],
  ["half of a frame's head", Buffer.from([0, 0, 0]), "invalidRequest"],
  ["half of a message", oddFrame(0, good.length, good.subarray(0, 10)), "invalidRequest"],
  ["two messages", Buffer.concat([frame(good), frame(good)]), "invalidRequest"],
  ["a message of no fields", frame(Buffer.alloc(0)), "invalidParams"],
  ["a message of random bytes", frame(Buffer.from("ffffffff0a80", "hex")), "parseError"],
  ["a message that is cut off", frame(good.subarray(0, -3)), "parseError"],
  ["a text that is no UTF-8", frame(encode({ messageId: "\ud800" })), "parseError"],
  ["metadata that is no UTF-8", frame(encode({ metadata: { "\ud800": "\ud800" } })), "parseError"],
  ["a group that never ends", frame(Buffer.from("0b".repeat(5_000), "hex")), "parseError"],
  ["a version that is none", frame(good), "versionNotSupported", { "a2a-version": "9.9" }],
  ["a deadline that is none", frame(good), "invalidRequest", { "grpc-timeout": "soon" }],
];

describe.each(["SendMessage", "SendStreamingMessage"])("%s", (rpc) => {
  it.each<Refused>(refused)("the gRPC endpoint refuses %s", async (_, body, code, headers) => {
    const outcome = grpcOutcome(await session.call(rpc, body, headers));
    expect(outcome.error?.code).toBe(code);
    expectCallersFault(outcome);
    if (code === "contentTooLarge") expect(outcome.error?.message).toContain(String(maxBytes));
    expect(turns).toBe(0);
    await expectServes();
  });

  it("the gRPC endpoint gives up a call that sends nothing for too long", async () => {
    const outcome = grpcOutcome(await impatientSession.call(rpc, undefined));
    expect(outcome.error?.code).toBe("requestTimeout");
    expectCallersFault({ ...outcome, error: undefined });
    expect(turns).toBe(0);
    await vi.waitFor(() => expectServes(impatientSession), { timeout: 30_000, interval: 0 });
  });
});

it.each([
  ["an encoding that nobody knows", "/lf.a2a.v1.A2AService/SendMessage", { "grpc-encoding": "snappy" }],
  ["an RPC that does not exist", "/lf.a2a.v1.A2AService/Nope", {}],
  ["an RPC of every object", "/lf.a2a.v1.A2AService/constructor", {}],
  ["a service that does not exist", "/nope.Nope/SendMessage", {}],
  ["a path of one slash", "/", {}],
  ["a path up the tree", "/../SendMessage", {}],
])("the gRPC endpoint answers %s with UNIMPLEMENTED", async (_, path, headers) => {
  const answer = await session.call("SendMessage", zipped(good), { ":path": path, ...headers });
  expect([answer.headers[":status"], answer.status]).toEqual([200, 12]);
  expect(turns).toBe(0);
  await expectServes();
});

it.each([
  ["GET", { ":method": "GET" }, 405],
  ["a type that only begins like gRPC's", { "content-type": "application/grpcfoo" }, 415],
])("a server does not treat %s as a gRPC call", async (_, headers, status) => {
  const answer = await session.call("SendMessage", frame(good), headers);
  expect([answer.headers[":status"], turns]).toEqual([status, 0]);
  await expectServes();
});

it.each([
  ["binary metadata that is no base64", { "x-odd-bin": "!!!" }],
  ["a deadline beyond all clocks", { "grpc-timeout": "99999999H" }],
  ["a last event that never was", { "last-event-id": "garbage" }],
  ["extensions that nobody knows", { "a2a-extensions": ",,urn:x,," }],
])("the gRPC endpoint accepts %s", async (_, headers) => {
  expect((await session.call("SendMessage", frame(good), headers)).status).toBe(0);
  expect(turns).toBe(1);
});

it("the gRPC endpoint accepts a message of exactly the limit, compressed or not", async () => {
  const room = maxBytes - encode({ parts: [{ text: "" }] }).length - 10;
  const fitting = encode({ parts: [{ text: "x".repeat(room) }] });
  expect((await session.call("SendMessage", frame(fitting))).status).toBe(0);
  expect((await session.call("SendMessage", zipped(gzipSync(fitting)), gzip)).status).toBe(0);
  expect(turns).toBe(2);
});

it("the gRPC endpoint accepts data of the greatest JSON depth", async () => {
  let deep: JsonObject = {};
  for (let level = 0; level < 55; level++) deep = { deep };
  expect((await session.call("SendMessage", frame(encode({ metadata: deep })))).status).toBe(0);
});
