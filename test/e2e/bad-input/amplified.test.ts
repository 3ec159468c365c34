import { gzipSync } from "node:zlib";
import { reply } from "trivium";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { frame, type RawSession, rawSession } from "../../support/grpc-raw.js";
import { grpcOutcome } from "../../support/raw-grpc.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";
import { entry, field, metadata, nothing, times } from "../../support/wire-fields.js";

// Few bytes that take long to decode or much room once they are: with the default limits, over every binary form.

let served: ServedAgent;
let session: RawSession;
let turns = 0;

beforeAll(async () => {
  served = await startAgent("GRPC", {
    agent: async () => {
      turns++;
      return reply("done");
    },
  });
  session = rawSession(served.server.grpcPort);
});

afterAll(async () => {
  session[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

beforeEach(() => {
  turns = 0;
});

let lastId = 0;

/** A SendMessageRequest whose message has further fields. */
function request(...fields: readonly Uint8Array[]): Buffer {
  const role = Buffer.from([4 << 3, 1]);
  const message = [field(1, `m${++lastId}`), role, field(5, field(1, "hello")), ...fields];
  return field(2, Buffer.concat(message));
}

const messages = [
  ["metadata that is to be merged ten thousand times", () => request(metadata, times(10_000, field(6, nothing)))],
  ["a million empty parts", () => request(times(1_000_000, field(5, nothing)))],
  ["a million extensions", () => request(times(1_000_000, field(7, nothing)))],
  ["a million fields that are not known", () => request(times(1_000_000, field(15, nothing)))],
] as const;

describe.each(messages)("%s", (_, make) => {
  let body: Buffer;
  let gzip: Buffer<ArrayBuffer>;
  beforeAll(() => {
    body = make();
    gzip = gzipSync(body);
  });

  it("a small message of many values is refused over gRPC before it is decoded, zipped or not", async () => {
    const zipped = frame(gzip);
    zipped[0] = 1;
    for (const answer of [
      await session.call("SendMessage", frame(body)),
      await session.call("SendStreamingMessage", zipped, { "grpc-encoding": "gzip" }),
    ]) {
      expect(grpcOutcome(answer).error).toMatchObject({
        code: "contentTooLarge",
        message: expect.stringContaining("more than 250000 JSON values and names (jsonMaxValues)"),
      });
    }
    expect(turns).toBe(0);
  });

  it.each([
    ["application/proto", "SendMessage"],
    ["application/grpc-web+proto", "SendMessage"],
    ["application/connect+proto", "SendStreamingMessage"],
  ])("a small message of many values is refused as %s before it is decoded, zipped or not", async (type, rpc) => {
    const isEnveloped = type !== "application/proto";
    const zipped = isEnveloped ? frame(gzip) : gzip;
    if (isEnveloped) zipped[0] = 1;
    expect(await post(type, rpc, isEnveloped ? frame(body) : body)).toContain("250000");
    expect(await post(type, rpc, zipped, encodingOf(type))).toContain("250000");
    expect(turns).toBe(0);
  });
});

it.each([
  ["application/json", "SendMessage"],
  ["application/connect+json", "SendStreamingMessage"],
])("zipped %s of many values is refused before it is parsed", async (type, rpc) => {
  const json = Buffer.from(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[${"{},".repeat(1_000_000)}{}]}}`);
  const body = type === "application/json" ? gzipSync(json) : frame(gzipSync(json));
  if (type !== "application/json") body[0] = 1;
  expect(await post(type, rpc, body, encodingOf(type))).toContain("250000");
  expect(turns).toBe(0);
});

it.each(["application/proto", "application/grpc-web+proto"])(
  "zipped %s of an ordinary size is answered",
  async (type) => {
    const isEnveloped = type !== "application/proto";
    const body = isEnveloped ? frame(gzipSync(request())) : gzipSync(request());
    if (isEnveloped) body[0] = 1;
    expect(await post(type, "SendMessage", body, encodingOf(type))).toContain("done");
    expect(turns).toBe(1);
  },
);

it("a body that is no gzip, or too large once unzipped, is refused", async () => {
  const encoding = encodingOf("application/proto");
  expect(await post("application/proto", "SendMessage", request(), encoding)).toContain("the body is not gzip");
  const large = gzipSync(Buffer.alloc(10_000_000));
  expect(await post("application/proto", "SendMessage", large, encoding)).toContain("over the limit of 4194304 bytes");
});

it("a message that merges metadata as an encoder may is read", async () => {
  const merged = frame(request(field(6, entry("a")), field(6, entry("b"))));
  expect((await session.call("SendMessage", merged)).status).toBe(0);
  expect(turns).toBe(1);
});

function encodingOf(type: string): Record<string, string> {
  if (type.startsWith("application/grpc-web")) return { "grpc-encoding": "gzip" };
  return { [type.includes("connect") ? "connect-content-encoding" : "content-encoding"]: "gzip" };
}

/** Posts a body, and returns the answer with what trailers it has. */
async function post(
  type: string,
  rpc: string,
  body: Uint8Array,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fetch(`${served.server.url}/lf.a2a.v1.A2AService/${rpc}`, {
    method: "POST",
    headers: { "content-type": type, "connect-protocol-version": "1", "a2a-version": "1.0", ...headers },
    body: new Uint8Array(body),
  });
  return `${response.headers.get("grpc-message") ?? ""}${await response.text()}`;
}
