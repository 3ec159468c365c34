import { Client, ConnectionError, reply, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { toBindingName } from "../../src/protocol/bindings.js";
import { localTls } from "../support/tls.js";

const { key, cert } = localTls;

let started = 0;

/** An agent that refuses callers without a certificate of its own authority. */
const guarded = (asks: boolean) =>
  serve({
    card: { name: "Guarded", description: "Asks for a certificate", version: "1" },
    port: 0,
    host: "localhost",
    drainMs: 0,
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
    tls: { key, cert, ca: cert, requestCert: asks, rejectUnauthorized: asks },
    async *agent() {
      started++;
      yield reply("welcome");
    },
  });

describe.each(["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"])("over %s", (binding) => {
  it("a client presents its certificate to an agent that requires one", async () => {
    await using server = await guarded(true);
    const url = server.url.replace("127.0.0.1", "localhost");
    await using client = await Client.connect(url, { prefer: [binding], tls: { ca: cert, key, cert }, retry: false });
    expect(await client.send("hello")).toMatchObject({ text: "welcome", state: "message" });
    expect(client.connection?.binding).toBe(binding);
  });

  it("a client without a certificate is refused before its call reaches the agent", async () => {
    await using open = await guarded(false);
    await using closed = await guarded(true);
    await using openClient = await Client.connect(open.url, { tls: { ca: cert } });
    const card = structuredClone(openClient.card);
    const portOf = (url: string): string => new URL(url).port;
    for (const entry of card.supportedInterfaces) {
      entry.url = entry.url.replace(portOf(open.url), portOf(closed.url));
    }
    card.supportedInterfaces = card.supportedInterfaces.filter(
      ({ protocolBinding }) => toBindingName(protocolBinding) === binding,
    );
    await using client = await Client.connect(card, { tls: { ca: cert }, retry: false });
    const before = started;
    await expect(client.send("hello")).rejects.toBeInstanceOf(ConnectionError);
    expect(started).toBe(before);
  });
});
