import { once } from "node:events";
import { createServer, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { artifact, Client, reply, type Server, serve, working } from "trivium";
import { expect, it } from "vitest";
import { silentRelay } from "../support/silent-relay.js";
import { cardOf } from "./support/cards.js";

// A network that loses a connection without a word to either end, as a firewall does that has forgotten it. Pings find out.

const limits = { grpcKeepaliveMs: 50, grpcKeepaliveTimeoutMs: 200 };

/** An agent that goes on with each `release`, and says when it waits for one. */
function stepped() {
  let release = Promise.withResolvers<void>();
  let runs = 0;
  return {
    runs: () => runs,
    release: () => release.resolve(),
    async *agent({ text }: { readonly text: string }) {
      runs++;
      if (text === "hello") {
        yield reply("welcome");
        return;
      }
      yield working();
      for (let number = 0; number < 4; number++) {
        yield artifact(`${number} `, { artifactId: "count", append: number > 0 });
        await release.promise;
        release = Promise.withResolvers();
      }
    },
  };
}

function served(agent: ReturnType<typeof stepped>["agent"]): Promise<Server> {
  const card = { name: "Counter", description: "Counts", version: "1.0.0" };
  return serve({ card, port: 0, drainMs: 0, bindings: ["JSONRPC", "GRPC"], agent });
}

/** A client that calls an agent over gRPC, through a port of another program. */
function through(port: number, card: object): Promise<Client> {
  const entry = { protocolBinding: "GRPC", url: `127.0.0.1:${port}`, protocolVersion: "1.0", tenant: "" };
  const supportedInterfaces = [entry];
  return Client.connect({ ...card, supportedInterfaces }, { grpcTls: false, limits });
}

it("a stream resumes on a new connection when its own has silently died, without loss or doubles", async () => {
  const { agent, release, runs } = stepped();
  await using server = await served(agent);
  await using relay = await silentRelay(server.port);
  await using client = await through(relay.port, server.card);
  const deltas: string[] = [];
  for await (const delta of client.stream("count").text) {
    deltas.push(delta);
    if (deltas.length === 2) relay.forget();
    release();
  }
  expect(deltas).toEqual(["0 ", "1 ", "2 ", "3 "]);
  expect(runs()).toBe(1);
});

it("a call whose connection silently dies is repeated where that is safe, and fails where it is not", async () => {
  const { agent, runs } = stepped();
  await using server = await served(agent);
  await using relay = await silentRelay(server.port);
  await using client = await through(relay.port, server.card);
  await client.send("hello");
  relay.forget();
  await expect(client.getTask({ id: "nowhere" })).rejects.toMatchObject({ code: "taskNotFound" });
  relay.forget();
  // The agent knows messages by their ids.
  expect((await client.send("hello")).text).toBe("welcome");
  expect(runs()).toBe(2);
  await using plain = await through(relay.port, cardOf([]));
  await plain.send("hello");
  relay.forget();
  await expect(plain.send("hello")).rejects.toMatchObject({ code: "unavailable", written: true });
});

it("a silent agent whose connection answers is waited for, and pinged no more once no call is under way", async () => {
  const sessions: ServerHttp2Session[] = [];
  let pings = 0;
  let pinged = Promise.withResolvers<void>();
  const agent = createServer().on("session", (session) => {
    sessions.push(session);
    session.on("ping", () => {
      pings++;
      pinged.resolve();
      pinged = Promise.withResolvers();
    });
  });
  agent.on("stream", (stream) => stream.respond({ ":status": 200, "content-type": "application/grpc" }));
  await once(agent.listen(0, "127.0.0.1"), "listening");
  const client = await through((agent.address() as AddressInfo).port, cardOf([]));
  const left = new AbortController();
  const answer = client.send("hello", { signal: left.signal });
  answer.catch(() => {});
  while (pings < 4) await pinged.promise;
  expect(sessions).toHaveLength(1);
  left.abort();
  await expect(answer).rejects.toThrow();
  await client.close();
  for (const session of sessions) session.destroy();
  agent.close();
  await once(agent, "close");
});
