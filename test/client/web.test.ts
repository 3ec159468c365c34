import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { reply, serve } from "trivium";
import { Client, type ConnectOptions } from "trivium/client";
import { afterEach, expect, it } from "vitest";

// What the browser client does by itself; `test/browser` runs it in a browser.

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await once(server.close(), "close");
  }
});

async function listen(server: Server): Promise<string> {
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("an agent whose gRPC is no gRPC-Web is reached at the next interface", async () => {
  await using server = await serve({
    card: { name: "Both", description: "Answers", version: "1.0.0" },
    port: 0,
    grpcPort: 0,
    async *agent() {
      yield reply("here");
    },
  });
  await using client = await Client.connect(server.url, { prefer: ["GRPC", "HTTP+JSON"] });
  await client.send("hello");
  expect(client.connection).toMatchObject({ binding: "HTTP+JSON", skipped: [{ binding: "GRPC" }] });
});

/** Returns the requests that reach another origin after a redirect. */
async function redirectedTo(options: ConnectOptions): Promise<readonly IncomingHttpHeaders[]> {
  const headerSets: IncomingHttpHeaders[] = [];
  const elsewhere = await listen(
    createServer(({ headers }, response) => {
      headerSets.push(headers);
      response.end();
    }),
  );
  const moved = createServer((_, response) => response.writeHead(307, { Location: elsewhere }).end());
  const url = await listen(moved);
  const card = {
    name: "Moved",
    description: "Has moved",
    version: "1.0.0",
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [],
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  };
  await using client = await Client.connect(card, { ...options, retry: false });
  await expect(client.send("hello")).rejects.toThrow();
  return headerSets;
}

it("a call without secrets follows a redirect", async () => {
  expect(await redirectedTo({ extensions: ["urn:none"] })).toHaveLength(1);
});

it.each<[string, ConnectOptions]>([
  ["a token", { credentials: () => ({ headers: { authorization: "Bearer secret" } }) }],
  ["an API key", { credentials: () => ({ headers: { "x-api-key": "secret" } }) }],
  ["a header of the user's own", { headers: { "x-session": "secret" } }],
])("a call with %s follows no redirect", async (_, options) => {
  expect(await redirectedTo({ ...options, allowPlaintext: true })).toEqual([]);
});
