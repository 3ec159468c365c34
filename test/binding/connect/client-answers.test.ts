import { createServer, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createConnectTransport } from "../../../src/binding/connect/client.js";
import { encodeEnvelope } from "../../../src/binding/connect/envelope.js";
import { encodeStatus } from "../../../src/binding/grpc/details.js";
import { base64FromBytes } from "../../../src/protocol/base64.js";
import { A2AError, ConnectionError } from "../../../src/protocol/errors.js";
import { findOperation } from "../../../src/protocol/operations.js";
import { connectAgent } from "../../support/connect-agent.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { adapter } from "../../support/grpc-agent.js";
import { type HttpServer, serveHttp } from "../../support/http-agent.js";
import { itemsOf } from "../../support/items.js";
import { hello } from "../../support/requests.js";

/** An agent that sends the same response to every request, valid or not. */
function saying(answer: (response: ServerResponse) => void): Promise<HttpServer> {
  return serveHttp(createServer((request, response) => request.resume().on("end", () => answer(response))));
}

const whole = (status: number, headers: OutgoingHttpHeaders, body: string | Uint8Array) =>
  saying((response) => response.writeHead(status, headers).end(body));

/** An envelope with custom flags. */
function envelope(flags: number, data: string | Uint8Array): Uint8Array {
  const bytes = encodeEnvelope(typeof data === "string" ? new TextEncoder().encode(data) : data);
  bytes[0] = flags;
  return bytes;
}

const proto = { "content-type": "application/proto" };
const connectStream = { "content-type": "application/connect+proto" };
const grpcWeb = { "content-type": "application/grpc-web+proto" };
const reply = toBinary(findOperation("sendMessage").output, echo(hello));
const event = toBinary(findOperation("sendStreamingMessage").output, statusItem(1).response);
const ok = envelope(128, "grpc-status: 0\r\n");

const clientOf = (url: string, protocol: "connect" | "grpc-web", replyMaxBytes?: number) =>
  createConnectTransport({ url, adapter, protocol, replyMaxBytes });

const sendTo = (url: string, protocol: "connect" | "grpc-web", replyMaxBytes?: number) =>
  clientOf(url, protocol, replyMaxBytes).sendMessage(hello, {});

const streamOf = (url: string, protocol: "connect" | "grpc-web", replyMaxBytes?: number) =>
  itemsOf(clientOf(url, protocol, replyMaxBytes).sendStreamingMessage(hello, {}));

describe("an invalid answer", () => {
  it.each([
    ["a page", "connect", { "content-type": "text/html" }, "<html>"],
    ["no content type", "connect", {}, "x"],
    ["no message", "connect", proto, Uint8Array.of(10, 255)],
    ["the type of a stream", "connect", connectStream, envelope(0, reply)],
    ["a page", "grpc-web", { "content-type": "text/html" }, "<html>"],
    ["no message", "grpc-web", grpcWeb, Buffer.concat([envelope(0, Uint8Array.of(10, 255)), ok])],
    ["nothing but trailers", "grpc-web", grpcWeb, ok],
    ["two messages", "grpc-web", grpcWeb, Buffer.concat([envelope(0, reply), envelope(0, reply), ok])],
    ["a compressed message", "grpc-web", grpcWeb, Buffer.concat([envelope(1, reply), ok])],
    ["trailers without a status", "grpc-web", grpcWeb, Buffer.concat([envelope(0, reply), envelope(128, "a: b\r\n")])],
  ] as const)(
    "the Connect client reports %s over %s as an invalid agent response",
    async (_, protocol, headers, body) => {
      await using agent = await whole(200, headers, body);
      await expect(sendTo(agent.url, protocol)).rejects.toMatchObject({ code: "invalidAgentResponse" });
    },
  );

  it.each([
    ["garbage at its end", "connect", connectStream, envelope(2, "{")],
    ["an event after its end", "connect", connectStream, Buffer.concat([envelope(2, "{}"), envelope(0, event)])],
    ["flags that nobody knows", "connect", connectStream, envelope(64, event)],
    ["an event that is no message", "connect", connectStream, envelope(0, Uint8Array.of(10, 255))],
    ["an event that is no message", "grpc-web", grpcWeb, envelope(0, Uint8Array.of(10, 255))],
  ] as const)(
    "the Connect client reports a stream with %s over %s as an invalid agent response",
    async (_, protocol, headers, body) => {
      await using agent = await whole(200, headers, body);
      await expect(streamOf(agent.url, protocol)).rejects.toMatchObject({ code: "invalidAgentResponse" });
    },
  );
});

describe("an error without details", () => {
  it.each([
    [404, "methodNotFound"],
    [405, "methodNotAllowed"],
    [415, "unsupportedMediaType"],
    [501, "methodNotFound"],
    [502, "unavailable"],
  ] as const)(
    "HTTP status %i without Connect details is %s, and the message names the status",
    async (status, code) => {
      await using agent = await whole(status, { "content-type": "text/plain" }, "no");
      const expected = { code, metadata: { httpStatus: String(status) } };
      for (const protocol of ["connect", "grpc-web"] as const) {
        await expect(sendTo(agent.url, protocol)).rejects.toMatchObject(expected);
        await expect(streamOf(agent.url, protocol)).rejects.toMatchObject(expected);
      }
    },
  );

  it("an error without details keeps the challenge and the pause that only headers carry", async () => {
    await using agent = await whole(401, { "www-authenticate": "Basic", "retry-after": "3" }, "");
    const expected = { code: "unauthenticated", challenge: "Basic", retryAfterMs: 3000 };
    await expect(sendTo(agent.url, "connect")).rejects.toMatchObject(expected);
    await expect(sendTo(agent.url, "grpc-web")).rejects.toMatchObject(expected);
  });

  it.each([
    ['{"code":"not_found","message":"none"}', "taskNotFound", "none"],
    ['{"code":"canceled"}', "unavailable", "the agent answered with an error"],
    ['{"code":"data_loss","message":"oh"}', "internalError", "oh"],
    [
      '{"code":"unimplemented","message":7,"details":[7,{},{"type":"a","value":"%"}]}',
      "methodNotFound",
      "answered with",
    ],
    [
      '{"code":"not_found","message":"x","details":[{"type":"google.rpc.ErrorInfo","value":"/w"}]}',
      "taskNotFound",
      "x",
    ],
    ['{"code":"rest_no_route","message":"x"}', "invalidAgentResponse", "HTTP status 418"],
    ["[]", "invalidAgentResponse", "HTTP status 418"],
  ])("the error body %s is %s in an answer of Connect", async (body, code, message) => {
    await using agent = await whole(418, { "content-type": "application/json" }, body);
    const expected = { code, message: expect.stringContaining(message) };
    await expect(sendTo(agent.url, "connect")).rejects.toMatchObject(expected);
  });

  it.each([
    ['{"error":{"code":"not_found","message":"none"}}', "taskNotFound"],
    ['{"error":{"code":"what"}}', "internalError"],
    ['{"error":{"code":"unavailable"},"metadata":{"bad name":["x"],"retry-after":["1\\n2"],"y":7}}', "unavailable"],
  ])("the end %s of a Connect stream is %s", async (end, code) => {
    await using agent = await whole(200, connectStream, envelope(2, end));
    await expect(streamOf(agent.url, "connect")).rejects.toMatchObject({ code });
  });

  it.each([
    ["grpc-status: 5\r\ngrpc-message: n%C3%B6\r\n", "taskNotFound", "nö"],
    ["Grpc-Status:9\r\nGrpc-Message:100%", "unsupportedOperation", "100%"],
    ["grpc-status: 1\r\nbad name: x\r\n: y\r\nz", "unavailable", "the agent answered with an error"],
    ["grpc-status: 77\r\ngrpc-message: odd\r\n", "internalError", "odd"],
    ["grpc-status: 5\r\ngrpc-message: odd\r\ngrpc-status-details-bin: ////\r\n", "taskNotFound", "odd"],
  ])("gRPC-Web trailers %j are %s", async (trailers, code, message) => {
    await using agent = await whole(200, grpcWeb, envelope(128, trailers));
    await expect(sendTo(agent.url, "grpc-web")).rejects.toMatchObject({ code, message });
    await expect(streamOf(agent.url, "grpc-web")).rejects.toMatchObject({ code, message });
  });

  it.each([200, 400])(
    "the Connect client reads gRPC-Web trailers from the headers of an answer with status %i",
    async (status) => {
      const error = new A2AError("taskNotCancelable", "done", { metadata: { taskId: "t" } });
      const details = base64FromBytes(encodeStatus(error));
      const headers = { ...grpcWeb, "grpc-status": "9", "grpc-message": "done", "grpc-status-details-bin": details };
      await using agent = await whole(status, headers, "");
      const expected = { code: "taskNotCancelable", message: "done", metadata: { taskId: "t" } };
      await expect(sendTo(agent.url, "grpc-web")).rejects.toMatchObject(expected);
      await expect(streamOf(agent.url, "grpc-web")).rejects.toMatchObject(expected);
    },
  );
});

it("the Connect client accepts a stream without events whose trailers are in the headers", async () => {
  await using agent = await whole(200, { "content-type": "application/grpc-web", "grpc-status": "0" }, "");
  expect(await streamOf(agent.url, "grpc-web")).toEqual([]);
});

describe("a connection that breaks", () => {
  const heads = [
    ["connect", proto, connectStream],
    ["grpc-web", grpcWeb, grpcWeb],
  ] as const;

  it.each(heads)(
    "a connection that breaks in the midst of an answer over %s was written to",
    async (protocol, unary, stream) => {
      for (const [headers, call] of [[unary, sendTo] as const, [stream, streamOf] as const]) {
        await using agent = await saying((response) => {
          response.writeHead(200, headers).write(envelope(0, event).subarray(0, 7), () => response.destroy());
        });
        const error: unknown = await call(agent.url, protocol).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ConnectionError);
        expect(error).toMatchObject({ written: true });
      }
    },
  );

  it.each(heads)("a connection that breaks before it has answered over %s was written to", async (protocol) => {
    await using agent = await saying((response) => response.destroy());
    await expect(sendTo(agent.url, protocol)).rejects.toMatchObject({ name: "ConnectionError", written: true });
    await expect(streamOf(agent.url, protocol)).rejects.toMatchObject({ name: "ConnectionError", written: true });
  });

  it.each(heads)(
    "a stream over %s loses no event before a break, and a missing end is an error",
    async (protocol, _, headers) => {
      await using agent = await whole(200, headers, envelope(0, event));
      const events = clientOf(agent.url, protocol).sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
      expect((await events.next()).value?.response).toEqual(statusItem(1).response);
      await expect(events.next()).rejects.toMatchObject({ name: "ConnectionError", written: true });
    },
  );
});

describe("a reply over the limit", () => {
  it.each([
    ["connect", proto, Buffer.alloc(1001)],
    ["grpc-web", grpcWeb, envelope(0, Buffer.alloc(1001))],
  ] as const)("a reply over the limit is refused over %s", async (protocol, headers, body) => {
    await using agent = await whole(200, headers, body);
    await expect(sendTo(agent.url, protocol, 1000)).rejects.toMatchObject({ code: "contentTooLarge" });
  });

  it("an error over the limit of a reply is refused", async () => {
    await using agent = await whole(500, { "content-type": "application/json" }, Buffer.alloc(1001));
    await expect(sendTo(agent.url, "connect", 1000)).rejects.toMatchObject({ code: "contentTooLarge" });
  });

  it.each([
    ["connect", connectStream],
    ["grpc-web", grpcWeb],
  ] as const)(
    "the limit of a reply counts one event of a stream over %s, not the whole stream",
    async (protocol, headers) => {
      const fit = Array.from({ length: 100 }, () => envelope(0, event));
      const big = envelope(0, Buffer.alloc(1001));
      await using agent = await whole(200, headers, Buffer.concat([...fit, big]));
      const items: unknown[] = [];
      const reading = (async () => {
        for await (const item of clientOf(agent.url, protocol, 1000).sendStreamingMessage(hello, {})) items.push(item);
      })();
      await expect(reading).rejects.toMatchObject({ code: "contentTooLarge" });
      expect(items).toHaveLength(100);
    },
  );
});

it.each(["connect", "grpc-web"] as const)(
  "the Connect client frees the socket of a %s answer that it does not read",
  async (protocol) => {
    const closed = Promise.withResolvers<void>();
    await using agent = await saying((response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(200, { "content-type": "text/html" }).write("<html>");
    });
    await expect(sendTo(agent.url, protocol)).rejects.toMatchObject({ code: "invalidAgentResponse" });
    await closed.promise;
  },
);

it("the Connect client reads a compressed answer", async () => {
  await using agent = await connectAgent(serviceOf({ sendMessage: async (request) => echo(request) }));
  const request = structuredClone(hello);
  for (const part of request.message?.parts ?? []) part.content = { case: "text", value: "long ".repeat(5000) };
  const encodings: (string | null)[] = [];
  const noting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    encodings.push(response.headers.get("content-encoding"));
    return response;
  };
  const client = createConnectTransport({ url: agent.url, adapter, fetch: noting });
  expect(await client.sendMessage(request, {})).toEqual(echo(request));
  expect(encodings).toEqual(["gzip"]);
});

it.each([
  ["connect", connectStream, envelope(2, "{}")],
  ["grpc-web", grpcWeb, ok],
] as const)(
  "the Connect client reads a stream over %s to the end of its body, so that its connection is free",
  async (protocol, headers, end) => {
    const answering = Promise.withResolvers<ServerResponse>();
    await using agent = await saying((response) => {
      response.writeHead(200, headers).write(Buffer.concat([envelope(0, event), end]));
      answering.resolve(response);
    });
    const events = clientOf(agent.url, protocol).sendStreamingMessage(hello, {})[Symbol.asyncIterator]();
    await events.next();
    let over = false;
    const last = events.next().finally(() => {
      over = true;
    });
    await setImmediate();
    expect(over).toBe(false);
    (await answering.promise).end();
    expect(await last).toMatchObject({ done: true });
  },
);
