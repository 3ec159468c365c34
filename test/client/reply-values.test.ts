import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { frame } from "../support/grpc-raw.js";
import { field, metadata, nothing, times } from "../support/wire-fields.js";
import { answered, cardServer } from "./support/card-server.js";
import { cardOf, interfaceAt } from "./support/cards.js";

// Replies within the limit of bytes that would fill the heap, or take minutes to decode.

const refused = { code: "contentTooLarge", message: expect.stringContaining("more than 1048576 JSON values") };
const options = { retry: false } as const;

/** A SendMessageResponse with a message. */
const reply = (...fields: readonly Uint8Array[]): Buffer => field(2, Buffer.concat(fields));

const replies = [
  ["metadata to merge ten thousand times", reply(metadata, times(10_000, field(6, nothing)))],
  ["two million empty parts", reply(times(2_000_000, field(5, nothing)))],
] as const;

describe.each(replies)("a binary reply with %s", (_, body) => {
  it("a binary reply with too many values is refused over gRPC", async () => {
    const server = createHttp2Server().on("stream", (stream) => {
      stream.on("error", () => {});
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(frame(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await using client = await Client.connect(cardOf([interfaceAt("GRPC", `http://127.0.0.1:${port}`)]), options);
    await expect(client.send("hello")).rejects.toMatchObject(refused);
    await client.close();
    server.close();
  });

  it("a binary reply with too many values is refused over Connect", async () => {
    await using server = await cardServer({
      "/lf.a2a.v1.A2AService/SendMessage": (_request, response) => {
        response.writeHead(200, { "content-type": "application/proto" }).end(body);
      },
    });
    await using client = await Client.connect(cardOf([interfaceAt("CONNECT", server.url)]), options);
    await expect(client.send("hello")).rejects.toMatchObject(refused);
  });
});

const message = `{"messageId":"m","role":"ROLE_AGENT","parts":[${"{},".repeat(2_000_000)}{}]}`;

it("JSON of millions of values is refused before it is parsed, in an answer and in an event", async () => {
  const json = `{"message":${message}}`;
  await using server = await cardServer({
    "/http-json/message:send": answered(200, { "content-type": "application/json" }, json),
    "/http-json/message:stream": answered(200, { "content-type": "text/event-stream" }, `data: ${json}\n\n`),
  });
  await using client = await Client.connect(cardOf([interfaceAt("HTTP+JSON", server.url)]), options);
  await expect(client.send("hello")).rejects.toMatchObject(refused);
  await expect(client.stream("hello").answer).rejects.toMatchObject(refused);
});
