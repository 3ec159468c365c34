import { Code } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import type { ServerContext } from "../../../src/protocol/context.js";
import { A2AError, errorCodes, errorDomain, errorTable } from "../../../src/protocol/errors.js";
import { connectAgent, connectErrorOf, webProtocols } from "../../support/connect-agent.js";
import { echo, inPlace, serviceOf, statusItem } from "../../support/echo-service.js";
import { wireTo } from "../../support/http-calls.js";
import { itemsOf } from "../../support/items.js";
import { getTask, hello } from "../../support/requests.js";

const path = "/lf.a2a.v1.A2AService";

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
      for (let number = 0; number < 50; number++) yield statusItem(number);
    },
  });
  return { contexts, service };
}

it.each(webProtocols.flatMap((protocol) => [[protocol, "1.1"] as const, [protocol, "2"] as const]))(
  "the Connect endpoint answers and streams over %s on HTTP/%s",
  async (protocol, httpVersion) => {
    const { contexts, service } = noting();
    await using agent = await connectAgent({
      ...service,
      authenticate: ({ header }) => ({ principal: { owner: header("x-me") ?? "" } }),
    });
    const client = agent.client(protocol, httpVersion);
    const headers = {
      "X-Me": "ann",
      "A2A-Version": "1.0",
      "A2A-Extensions": "urn:known:a,urn:b",
      "Last-Event-ID": "e",
    };
    let active: string | null = null;
    const onHeader = (received: Headers) => {
      active = received.get("a2a-extensions");
    };
    expect(await client.sendMessage(hello, { headers, onHeader })).toEqual(echo(hello));
    expect(active).toBe("urn:known:a");
    active = null;
    const events = await itemsOf(client.sendStreamingMessage(hello, { headers, onHeader }));
    expect(events).toEqual(Array.from({ length: 50 }, (_, number) => statusItem(number).response));
    expect(active).toBe("urn:known:a");
    const context = {
      principal: { owner: "ann" },
      binding: "CONNECT",
      version: "1.0",
      extensions: ["urn:known:a"],
      after: "e",
    };
    expect(contexts).toMatchObject([context, context]);
    expect(agent.faults).toEqual([]);
  },
);

// Requirements: V1-BIND-6
it.each(errorCodes)(
  "the error %s keeps its code and details in a Connect answer and at the end of a stream",
  async (code) => {
    const error = new A2AError(code, "nö", {
      metadata: { taskId: "t" },
      violations: [{ field: "a.b", description: "is wrong" }],
      retryAfterMs: 2500,
    });
    await using agent = await connectAgent(
      serviceOf({
        getTask: () => Promise.reject(error),
        async *sendStreamingMessage() {
          yield statusItem(1);
          throw error;
        },
      }),
    );
    for (const protocol of webProtocols) {
      const client = agent.client(protocol);
      for (const call of [client.getTask(getTask), itemsOf(client.sendStreamingMessage(hello))]) {
        const thrown = await connectErrorOf(call);
        expect(thrown).toMatchObject({ code: errorTable[code].grpc, rawMessage: "nö" });
        expect(thrown.findDetails(ErrorInfoSchema)).toMatchObject([
          { reason: errorTable[code].reason, domain: errorDomain, metadata: { taskId: "t" } },
        ]);
        expect(thrown.findDetails(BadRequestSchema)).toMatchObject([
          { fieldViolations: [{ field: "a.b", description: "is wrong" }] },
        ]);
        expect(thrown.findDetails(RetryInfoSchema)).toMatchObject([
          { retryDelay: { seconds: 2n, nanos: 500_000_000 } },
        ]);
      }
    }
  },
);

it("the Connect endpoint reveals nothing of what agent code threw", async () => {
  await using agent = await connectAgent(serviceOf({ sendMessage: () => Promise.reject(new Error("secret")) }));
  for (const protocol of webProtocols) {
    const thrown = await connectErrorOf(agent.client(protocol).sendMessage(hello));
    expect(thrown).toMatchObject({ code: Code.Internal, rawMessage: "internal error" });
  }
});

const post = (url: string, rpc: string, contentType: string, body: string | Uint8Array<ArrayBuffer>) =>
  fetch(`${url}${path}/${rpc}`, { method: "POST", headers: { "content-type": contentType }, body });

const helloJson = '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}';

it("the Connect endpoint can be called with curl", async () => {
  await using agent = await connectAgent(noting().service);
  const answer = await post(agent.url, "SendMessage", "application/json", helloJson);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-length")).not.toBeNull();
  expect(await answer.json()).toEqual({
    message: { messageId: "reply", role: "ROLE_AGENT", parts: [{ text: "hello" }] },
  });
});

it.each([
  ["JSON that is none", "application/json", "{", 400, "invalid_argument"],
  ["a message without its required fields", "application/json", "{}", 400, "invalid_argument"],
  ["a field of a wrong type", "application/json", '{"message":7}', 400, "invalid_argument"],
  ["bytes that are no message", "application/proto", new Uint8Array([10, 255]), 400, "invalid_argument"],
  ["text that a form may send", "text/plain", helloJson, 415, undefined],
  ["a form", "application/x-www-form-urlencoded", "a=b", 415, undefined],
])("the Connect endpoint refuses %s", async (_, contentType, body, status, code) => {
  const { contexts, service } = noting();
  await using agent = await connectAgent(service);
  const answer = await post(agent.url, "SendMessage", contentType, body);
  expect(answer.status).toBe(status);
  const text = await answer.text();
  if (code !== undefined) expect(JSON.parse(text)).toMatchObject({ code });
  expect(contexts).toEqual([]);
  expect(agent.faults).toEqual([]);
});

it.each([
  ["gRPC-Web in base64", "application/grpc-web-text", "12"],
  ["gRPC-Web in base64, with its message format", "application/grpc-web-text+proto", "12"],
  ["gRPC over HTTP/1.1", "application/grpc", "12"],
  ["XML", "application/xml", null],
])("the Connect endpoint says what is served to a caller that sends %s", async (_, contentType, grpcStatus) => {
  const { contexts, service } = noting();
  await using agent = await connectAgent(service);
  const answer = await post(agent.url, "SendMessage", contentType, helloJson);
  expect([answer.status, answer.headers.get("grpc-status")]).toEqual([415, grpcStatus]);
  const text = await answer.text();
  expect(text).toContain(`unsupported content type ${contentType}`);
  expect(text).toContain("application/grpc-web+proto");
  if (grpcStatus !== null) expect(`${answer.headers.get("grpc-message")}\n`).toBe(text);
  expect(contexts).toEqual([]);
});

it("the Connect endpoint leaves paths that are not its own to others", async () => {
  await using agent = await connectAgent(noting().service);
  expect((await post(agent.url, "NoSuchThing", "application/json", "{}")).status).toBe(404);
  expect((await fetch(`${agent.url}/`)).status).toBe(404);
  expect((await fetch(`${agent.url}${path}/SendMessage`)).status).toBe(405);
});

// Requirements: V1-BIND-9
it("the Connect endpoint authenticates before it reads the body", async () => {
  const { contexts, service } = noting();
  await using agent = await connectAgent({
    ...service,
    authenticate: async () => {
      throw new A2AError("unauthenticated", "a token is needed");
    },
  });
  const wire = wireTo(agent.port);
  const head = "Host: a\r\nContent-Type: application/json\r\nContent-Length: 100000";
  wire.socket.write(`POST ${path}/SendMessage HTTP/1.1\r\n${head}\r\n\r\n{`);
  const answer = await new Promise<string>((resolve) => wire.socket.once("data", resolve));
  expect(answer).toMatch(/^HTTP\/1\.1 401 [\s\S]*www-authenticate: Bearer/i);
  wire.socket.destroy();
  for (const protocol of webProtocols) {
    const client = agent.client(protocol);
    expect(await connectErrorOf(client.sendMessage(hello))).toMatchObject({ code: Code.Unauthenticated });
    expect(await connectErrorOf(itemsOf(client.sendStreamingMessage(hello)))).toMatchObject({
      code: Code.Unauthenticated,
    });
  }
  expect(contexts).toEqual([]);
});

it.each(webProtocols)("the Connect endpoint refuses a request over the limit on %s", async (protocol) => {
  const { contexts, service } = noting();
  const limits = { contentMaxBytes: 1000, jsonBodyMaxBytes: 1500, jsonMaxValues: 250_000, keepAliveMs: 1000 };
  await using agent = await connectAgent({ ...service, limits });
  const big = { ...hello, tenant: "x".repeat(2000) };
  for (const call of [
    agent.client(protocol).sendMessage(big),
    itemsOf(agent.client(protocol).sendStreamingMessage(big)),
  ]) {
    const thrown = await connectErrorOf(call);
    expect(thrown.code).toBe(Code.ResourceExhausted);
    expect(thrown.rawMessage).toMatch(/1000|1500/);
  }
  expect(contexts).toEqual([]);
});

it.each(webProtocols)("the Connect endpoint refuses another version on %s", async (protocol) => {
  await using agent = await connectAgent(noting().service);
  const call = agent.client(protocol).sendMessage(hello, { headers: { "A2A-Version": "0.3" } });
  expect((await connectErrorOf(call)).code).toBe(Code.FailedPrecondition);
});

it.each(webProtocols)("the Connect endpoint stops the stream of a caller that leaves on %s", async (protocol) => {
  const left = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await using agent = await connectAgent(
    serviceOf({
      async *sendStreamingMessage(_, { signal }) {
        signal.addEventListener("abort", () => left.resolve());
        try {
          yield statusItem(1);
          await left.promise;
        } finally {
          released.resolve();
        }
      },
    }),
  );
  const controller = new AbortController();
  const reading = (async () => {
    const { signal } = controller;
    for await (const _ of agent.client(protocol).sendStreamingMessage(hello, { signal })) controller.abort();
  })();
  expect((await connectErrorOf(reading)).code).toBe(Code.Canceled);
  await left.promise;
  await released.promise;
});

it.each(webProtocols)("the Connect endpoint keeps the time limit of a call on %s", async (protocol) => {
  const left = Promise.withResolvers<void>();
  await using agent = await connectAgent(
    serviceOf({
      sendMessage: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            left.resolve();
            reject(signal.reason);
          });
        }),
    }),
  );
  const call = agent.client(protocol).sendMessage(hello, { timeoutMs: 100 });
  expect((await connectErrorOf(call)).code).toBe(Code.DeadlineExceeded);
  await left.promise;
});

it("the Connect endpoint takes no more from a stream than its reader reads", async () => {
  let itemCount = 0;
  await using agent = await connectAgent(
    serviceOf({
      async *sendStreamingMessage() {
        for (;;) {
          itemCount += 1;
          yield statusItem(itemCount);
        }
      },
    }),
  );
  const answer = await post(agent.url, "SendStreamingMessage", "application/connect+json", envelope(helloJson));
  let before = -1;
  while (before !== itemCount) {
    before = itemCount;
    // Each response shows that the server keeps working while the stream waits.
    for (let call = 0; call < 20; call++) await (await fetch(agent.url)).text();
  }
  expect(itemCount).toBeGreaterThan(1);
  await answer.body?.cancel();
});

/** A message in the envelope of streams. */
function envelope(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5 + text.length);
  new DataView(bytes.buffer).setUint32(1, text.length);
  new TextEncoder().encodeInto(text, bytes.subarray(5));
  return bytes;
}

it("the Connect endpoint counts its calls in and out", async () => {
  let inside = 0;
  let bytes = 0;
  const { service } = noting();
  await using agent = await connectAgent({
    ...service,
    enter: () => {
      inside += 1;
      let counted = true;
      return inPlace({
        hold: (size) => {
          bytes += size;
        },
        leave: () => {
          if (counted) inside -= 1;
          counted = false;
        },
      });
    },
  });
  const client = agent.client("connect json");
  await client.sendMessage(hello);
  await itemsOf(client.sendStreamingMessage(hello));
  await connectErrorOf(client.getTask({ id: "" }));
  expect(inside).toBe(0);
  expect(bytes).toBeGreaterThan(100);
});

it.each([
  ["application/connect+proto", /"code":"invalid_argument"/],
  ["application/grpc-web+proto", /grpc-status: 3/],
])(
  "the Connect endpoint blames the caller for a stream's request that is no message in %s",
  async (contentType, expected) => {
    const { contexts, service } = noting();
    await using agent = await connectAgent(service);
    const body = new Uint8Array([0, 0, 0, 0, 2, 10, 255]);
    const answer = await post(agent.url, "SendStreamingMessage", contentType, body);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toMatch(expected);
    expect(contexts).toEqual([]);
  },
);
