import { once } from "node:events";
import { connect } from "node:net";
import { deflateSync, gzipSync } from "node:zlib";
import { toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import type { CallHead } from "../../../src/binding/service.js";
import type { ServerContext } from "../../../src/protocol/context.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { SendMessageRequestSchema } from "../../../src/protocol/model.js";
import { echo, inPlace, serviceOf, statusItem } from "../../support/echo-service.js";
import { grpcAgent } from "../../support/grpc-agent.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { itemsOf } from "../../support/items.js";
import { hello } from "../../support/requests.js";

const helloFrame = frame(toBinary(SendMessageRequestSchema, hello));

/** An agent that records the contexts of its calls. */
function noting() {
  const contexts: ServerContext[] = [];
  const service = serviceOf({
    sendMessage: async (request, context) => {
      contexts.push(context);
      return echo(request);
    },
    async *sendStreamingMessage(_, context) {
      contexts.push(context);
      yield statusItem(1);
    },
  });
  return { contexts, service };
}

it("the gRPC server gives the operation the caller, the transport's facts and the request", async () => {
  const { contexts, service } = noting();
  await using agent = await grpcAgent({
    ...service,
    authenticate: ({ header }) => ({ principal: { owner: String(header("x-me")) } }),
  });
  const headers = { "X-Me": "ann" };
  await agent.client.sendMessage(hello, { headers, extensions: ["urn:known:a", "urn:other"], after: "e-7" });
  expect(contexts[0]).toMatchObject({
    principal: { owner: "ann" },
    binding: "GRPC",
    version: "1.0",
    extensions: ["urn:known:a"],
    after: "e-7",
  });
});

it.each(["SendMessage", "SendStreamingMessage"])(
  "the gRPC server names the active extensions before the reply to %s",
  async (rpc) => {
    await using agent = await grpcAgent(noting().service);
    using raw = rawSession(agent.port);
    const active = await raw.call(rpc, helloFrame, { "a2a-extensions": "urn:known:a, urn:other,urn:known:b" });
    expect(active.headers["a2a-extensions"]).toBe("urn:known:a,urn:known:b");
    const none = await raw.call(rpc, helloFrame);
    expect(none.headers["a2a-extensions"]).toBeUndefined();
    expect([active.status, none.status]).toEqual([0, 0]);
  },
);

it.each([
  ["0.3", 9],
  ["2.0", 9],
  ["nonsense", 9],
  ["1.0", 0],
  ["1.0.7", 0],
  ["", 0],
])("the gRPC server answers a declared version %j with status %i", async (version, status) => {
  await using agent = await grpcAgent(noting().service);
  using raw = rawSession(agent.port);
  expect((await raw.call("SendMessage", helloFrame, { "a2a-version": version })).status).toBe(status);
});

it("the gRPC server authenticates before the message arrives, and reads none of it after a refusal", async () => {
  const heads: CallHead[] = [];
  const { contexts, service } = noting();
  await using agent = await grpcAgent({
    ...service,
    authenticate: async (head) => {
      heads.push(head);
      throw new A2AError("unauthenticated", "a token is needed");
    },
  });
  using raw = rawSession(agent.port);
  // The request stays open; its body is never sent.
  const refused = await raw.call("SendMessage", undefined, { authorization: "Bearer nobody" });
  expect(refused.status).toBe(16);
  expect(heads[0]?.header("authorization")).toBe("Bearer nobody");
  const garbage = await raw.call("SendMessage", frame(Buffer.from("garbage")));
  expect(garbage.status).toBe(16);
  expect(contexts).toEqual([]);
});

it.each([
  ["bytes that are no message", frame(Buffer.from([0x0a, 0xff])), 3, /not a lf\.a2a\.v1\.SendMessageRequest message/],
  ["a wrong wire type", frame(Buffer.from([0x08, 0x01])), 3, /./],
  ["text that is no UTF-8", frame(Buffer.from([0x0a, 0x04, 0x0a, 0x02, 0xc3, 0x28])), 3, /./],
  ["a message without its required fields", frame(Buffer.alloc(0)), 3, /message is required/],
  ["no message", Buffer.alloc(0), 3, /no request message/],
  ["two messages", Buffer.concat([helloFrame, helloFrame]), 3, /more than one/],
  ["a frame over the limit", Buffer.from([0, 0x00, 0x50, 0, 0]), 8, /4194304/],
  ["a compressed frame that is not", Buffer.concat([Buffer.from([1]), helloFrame.subarray(1)]), 3, /./],
])("a gRPC request with %s fails with an error that names the cause", async (_, body, status, message) => {
  const { contexts, service } = noting();
  await using agent = await grpcAgent(service);
  using raw = rawSession(agent.port);
  for (const rpc of ["SendMessage", "SendStreamingMessage"]) {
    const { headers, trailers, status: grpcStatus } = await raw.call(rpc, body, { "grpc-encoding": "gzip" });
    expect(grpcStatus).toBe(status);
    expect(decodeURIComponent(String(trailers["grpc-message"] ?? headers["grpc-message"]))).toMatch(message);
  }
  expect(contexts).toEqual([]);
  expect((await raw.call("SendMessage", helloFrame)).status).toBe(0);
});

it("the gRPC server reads a compressed message, and refuses one that exceeds the limit when decompressed", async () => {
  await using agent = await grpcAgent(noting().service);
  using raw = rawSession(agent.port);
  const compressed = (bytes: Uint8Array): Buffer => {
    const framed = frame(gzipSync(bytes));
    framed[0] = 1;
    return framed;
  };
  const gzip = { "grpc-encoding": "gzip" };
  expect((await raw.call("SendMessage", compressed(helloFrame.subarray(5)), gzip)).status).toBe(0);
  expect((await raw.call("SendMessage", compressed(Buffer.alloc(8 * 1024 * 1024)), gzip)).status).toBe(8);
});

it("the gRPC server puts together a message that comes byte by byte, and one that is deflated", async () => {
  await using agent = await grpcAgent(noting().service);
  using raw = rawSession(agent.port);
  const { stream, answer } = raw.open("SendMessage");
  for (const byte of helloFrame) {
    stream.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  stream.end();
  expect((await answer).status).toBe(0);
  const deflated = frame(deflateSync(helloFrame.subarray(5)));
  deflated[0] = 1;
  expect((await raw.call("SendMessage", deflated, { "grpc-encoding": "deflate" })).status).toBe(0);
  expect((await raw.call("SendMessage", deflated, { "grpc-encoding": "snappy" })).status).toBe(12);
});

it("the gRPC server passes on binary metadata in base64, and repeated values joined by commas", async () => {
  const { contexts, service } = noting();
  await using agent = await grpcAgent(service);
  using raw = rawSession(agent.port);
  const headers = { "x-trace-bin": Buffer.from([0xff, 0xfe]).toString("base64"), "x-more": ["a", "b"] };
  expect((await raw.call("SendMessage", helloFrame, headers)).status).toBe(0);
  const { header } = contexts[0] ?? {};
  expect([header?.("x-trace-bin"), header?.("x-more")]).toEqual(["//4=", "a, b"]);
});

it("the gRPC server ends a call whose deadline passes before its message is whole", async () => {
  await using agent = await grpcAgent(noting().service);
  using raw = rawSession(agent.port);
  const { stream, answer } = raw.open("SendMessage", { "grpc-timeout": "50m" });
  stream.write(helloFrame.subarray(0, -1));
  expect(await answer).toMatchObject({ status: 4 });
  expect((await raw.call("SendMessage", helloFrame, { "grpc-timeout": "soon" })).status).toBe(3);
});

it("the gRPC server closes a connection whose peer answers no ping", async () => {
  await using agent = await grpcAgent(noting().service, {
    limits: { grpcKeepaliveMs: 20, grpcKeepaliveTimeoutMs: 50 },
  });
  const silent = connect(agent.port, "127.0.0.1");
  silent.write(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "latin1"));
  silent.resume();
  await once(silent, "close");
});

it("the gRPC server answers an RPC that it does not have with UNIMPLEMENTED", async () => {
  await using agent = await grpcAgent(noting().service);
  using raw = rawSession(agent.port);
  expect((await raw.call("NoSuchThing", helloFrame)).status).toBe(12);
});

it("the gRPC server gives up on a message that does not arrive in time", async () => {
  await using agent = await grpcAgent(noting().service, { limits: { bodyTimeoutMs: 50 } });
  using raw = rawSession(agent.port);
  expect((await raw.call("SendMessage", undefined)).status).toBe(4);
});

it("the gRPC server closes the stream of a call that it ends before its request is whole", async () => {
  await using agent = await grpcAgent(noting().service, { limits: { bodyTimeoutMs: 50 } });
  using raw = rawSession(agent.port);
  const { stream, answer: ended } = raw.open("SendMessage");
  stream.write(helloFrame.subarray(0, -1));
  expect(await ended).toMatchObject({ status: 4 });
  await once(stream, "close");
  expect(stream.rstCode).toBe(0);
});

it.each([
  ["100m", 4],
  ["1000H", 0],
  ["99999999H", 0],
])("the gRPC server keeps a time limit of %s", async (timeout, status) => {
  await using agent = await grpcAgent(
    serviceOf({
      sendMessage: (request, { signal }) =>
        timeout === "100m"
          ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
          : Promise.resolve(echo(request)),
    }),
  );
  using raw = rawSession(agent.port);
  expect((await raw.call("SendMessage", helloFrame, { "grpc-timeout": timeout })).status).toBe(status);
});

it.each(["unavailable", "resourceExhausted"] as const)(
  "the gRPC server refuses a call that is counted out as %s",
  async (code) => {
    const { contexts, service } = noting();
    const enter = () => {
      throw new A2AError(code, "no more for now", { retryAfterMs: 2000 });
    };
    await using agent = await grpcAgent({ ...service, enter });
    await expect(agent.client.sendMessage(hello, {})).rejects.toMatchObject({ code, retryAfterMs: 2000 });
    expect(contexts).toEqual([]);
  },
);

it("the gRPC server counts each call in with its size and out when it is over, however it ends", async () => {
  let inside = 0;
  const entries: unknown[] = [];
  const over: Promise<void>[] = [];
  const { service } = noting();
  await using agent = await grpcAgent({
    ...service,
    enter: (call) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      over.push(promise);
      const { principal, streams } = call;
      const entry = { principal, streams, peer: call.peer(), bytes: 0, released: false };
      entries.push(entry);
      inside += 1;
      let counted = true;
      return inPlace({
        hold: (bytes) => {
          entry.bytes += bytes;
        },
        release: () => {
          entry.released = true;
        },
        leave: () => {
          if (counted) inside -= 1;
          counted = false;
          resolve();
        },
      });
    },
  });
  await agent.client.sendMessage(hello, {});
  await itemsOf(agent.client.sendStreamingMessage(hello, {}));
  await expect(
    agent.client.getTask({ $typeName: "lf.a2a.v1.GetTaskRequest", tenant: "", id: "t" }, {}),
  ).rejects.toThrow();
  await Promise.all(over);
  expect(inside).toBe(0);
  const principal = { owner: "somebody" };
  const peer = "127.0.0.1";
  expect(entries).toEqual([
    { principal, peer, bytes: helloFrame.length, streams: false, released: true },
    { principal, peer, bytes: helloFrame.length, streams: false, released: false },
    { principal, peer, bytes: 0, streams: true, released: false },
    { principal, peer, bytes: 8, streams: false, released: true },
  ]);
});
