import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import compression from "compression";
import express from "express";
import { artifact, Client, createAgent } from "trivium";
import { expressAgent } from "trivium/express";
import { describe, expect, it } from "vitest";

// Middleware that compresses replies waits for more bytes before it passes any on. The agent goes on only when its reader
// has seen the first event, so a stream that is held back never ends.

async function serveCompressed() {
  let seen = Promise.withResolvers<void>();
  const agent = await createAgent({
    card: { name: "Slow", description: "Waits for its reader", version: "1" },
    bindings: ["JSONRPC", "HTTP+JSON", "CONNECT"],
    async *agent() {
      yield artifact("first");
      await seen.promise;
      yield artifact("second");
    },
  });
  const app = express()
    .use(compression({ threshold: 0 }))
    .use("/agent", expressAgent(agent));
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`;
  return {
    url,
    next() {
      seen.resolve();
      seen = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      await agent.close(0);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("behind Express's compression()", () => {
  it.each(["JSONRPC", "HTTP+JSON", "CONNECT"] as const)(
    "events over %s pass Express's compression() as they come",
    async (binding) => {
      await using app = await serveCompressed();
      await using client = await Client.connect(app.url, { prefer: [binding] });
      const texts: string[] = [];
      for await (const event of client.stream("go")) {
        if (event.type !== "artifact") continue;
        texts.push(event.delta);
        app.next();
      }
      expect(texts).toEqual(["first", "second"]);
      expect(client.connection?.binding).toBe(binding);
    },
  );

  it("Express's compression() does not transform a card, whose length is that of its bytes", async () => {
    await using app = await serveCompressed();
    const response = await fetch(`${app.url}/.well-known/agent-card.json`, { headers: { "Accept-Encoding": "gzip" } });
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("cache-control")).toContain("no-transform");
    expect(Number(response.headers.get("content-length"))).toBe((await response.text()).length);
  });

  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
  const envelope = (json: object): Uint8Array<ArrayBuffer> => {
    const text = Buffer.from(JSON.stringify(json));
    const head = Buffer.alloc(5);
    head.writeUInt32BE(text.length, 1);
    return Buffer.concat([head, text]);
  };

  it.each([
    ["an answer over HTTP+JSON", "/http-json/message:send", "application/json", "{}"],
    [
      "a stream of JSON over Connect",
      "/lf.a2a.v1.A2AService/SendStreamingMessage",
      "application/connect+json",
      envelope({ message }),
    ],
  ])("%s is not transformed by Express's compression()", async (_, path, type, body) => {
    await using app = await serveCompressed();
    const headers = { "Content-Type": type, "Accept-Encoding": "gzip", "A2A-Version": "1.0" };
    const response = await fetch(`${app.url}${path}`, { method: "POST", headers, body });
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(response.headers.get("cache-control")).toContain("no-transform");
    app.next();
    await response.body?.cancel();
  });

  it("an extended card of 0.3 is not transformed by Express's compression()", async () => {
    await using app = await serveCompressed();
    const { headers } = await fetch(`${app.url}/agent/authenticatedExtendedCard`);
    expect(headers.get("cache-control")).toContain("no-transform");
  });
});
