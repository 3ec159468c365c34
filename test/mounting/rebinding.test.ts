import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import Koa from "koa";
import { type AgentOptions, createAgent, type MountedAgent, reply } from "trivium";
import { describe, expect, it } from "vitest";

// A page whose name is made to resolve to 127.0.0.1 calls an agent that is mounted on this machine. The browser still sends
// the page's host and origin.

const rebound = "attacker.example:4000";
const page = "http://attacker.example:4000";

interface Asked {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

type Mount = (agent: MountedAgent) => Server | Promise<Server>;

/** The peer that the runtime of a Fetch handler reports, by this header. */
const peerHeader = "x-peer";

const mounts: Readonly<Record<string, Mount>> = {
  nodeListener: (agent) =>
    createServer((incoming, response) =>
      agent.nodeListener({ basePath: "/a" })(incoming, response, () => response.end("the app")),
    ),
  koa: async (agent) => {
    const app = new Koa().use(await agent.koa({ basePath: "/a" })).use((ctx) => {
      ctx.body = "the app";
    });
    return createServer(app.callback());
  },
};

async function ask(server: Server, { path = "/a/json-rpc", headers = {}, body }: Asked): Promise<[number, string]> {
  const { port } = server.address() as AddressInfo;
  const method = body === undefined ? "GET" : "POST";
  const sent = request({
    port,
    host: "127.0.0.1",
    path,
    method,
    headers: { "content-type": "application/json", ...headers },
  });
  sent.end(body);
  return new Promise((resolve, reject) => {
    sent.once("error", reject);
    sent.once("response", async (response) => resolve([response.statusCode ?? 0, await text(response)]));
  });
}

let turns = 0;
const options: AgentOptions = {
  card: { name: "Near", description: "Is of this machine", version: "1" },
  logger: false,
  agent: async () => {
    turns++;
    return reply("done");
  },
};
const rpc = JSON.stringify({
  ...{ jsonrpc: "2.0", id: 1, method: "SendMessage" },
  params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } },
});

async function withMount<T>(
  mount: Mount,
  more: Partial<AgentOptions>,
  run: (server: Server) => Promise<T>,
): Promise<T> {
  await using agent = await createAgent({ ...options, ...more });
  const server = await mount(agent);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  turns = 0;
  try {
    return await run(server);
  } finally {
    server.close();
  }
}

const sendTo = (server: Server, headers: Record<string, string>): Promise<[number, string]> =>
  ask(server, { headers, body: rpc });

describe.each(Object.entries(mounts))(
  "an agent that is mounted on loopback by %s, without authentication",
  (_, mount) => {
    it("an agent mounted on loopback refuses a rebound page in the form of the binding, before a turn runs", () =>
      withMount(mount, {}, async (server) => {
        const [status, body] = await sendTo(server, { host: rebound });
        expect(status).toBe(421);
        expect(JSON.parse(body)).toMatchObject({
          id: null,
          error: { message: expect.stringMatching(/publicUrl.+allowedHosts/) },
        });
        const [otherStatus, otherBody] = await sendTo(server, { origin: page });
        expect([otherStatus, JSON.parse(otherBody)]).toMatchObject([
          403,
          { error: { message: expect.stringContaining("cors") } },
        ]);
        expect(
          (await ask(server, { path: "/a/http-json/tasks", headers: { host: rebound, "a2a-version": "1.0" } }))[0],
        ).toBe(421);
        expect((await ask(server, { path: "/a/.well-known/agent-card.json", headers: { host: rebound } }))[0]).toBe(
          421,
        );
        expect(turns).toBe(0);
      }));

    it("an agent mounted on loopback leaves the requests of the app alone", () =>
      withMount(mount, {}, async (server) => {
        for (const path of ["/", "/a/page", "/healthz"]) {
          expect(await ask(server, { path, headers: { host: rebound, origin: page } })).toEqual([200, "the app"]);
        }
      }));

    it.each([
      ["localhost", {}],
      ["127.0.0.1:4000", {}],
      ["attacker.example", { publicUrl: "https://attacker.example/a" }],
      [rebound, { allowedHosts: ["*.example"] }],
      [rebound, { trustProxy: ["127.0.0.1"] }],
      [rebound, { authenticate: () => ({ owner: "ada" }) }],
    ] as const)("an agent mounted on loopback answers at the host %s with %j", (host, more) =>
      withMount(mount, more, async (server) => {
        expect((await sendTo(server, { host }))[0]).toBe(200);
        expect(turns).toBe(1);
      }),
    );

    it("an agent mounted on loopback answers pages that `cors` lists", () =>
      withMount(mount, { cors: { origins: [page] } }, async (server) => {
        expect((await sendTo(server, { host: "localhost", origin: page }))[0]).toBe(200);
        expect((await sendTo(server, { host: "localhost", origin: "http://other.example" }))[0]).toBe(403);
      }));
  },
);

describe("an agent that is mounted as a Fetch handler, without authentication", () => {
  const send = async (peer: string | undefined, more: Partial<AgentOptions> = {}): Promise<number> => {
    await using agent = await createAgent({ ...options, ...more });
    const fetch = agent.fetch({ remoteAddress: (incoming) => incoming.headers.get(peerHeader) ?? undefined });
    const headers = {
      "content-type": "application/json",
      host: rebound,
      ...(peer !== undefined && { [peerHeader]: peer }),
    };
    const response = await fetch(new Request(`http://${rebound}/json-rpc`, { method: "POST", headers, body: rpc }));
    return response?.status ?? 404;
  };

  it.each(["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])(
    "a Fetch handler without authentication refuses a rebound page from %s",
    async (peer) => {
      expect(await send(peer)).toBe(421);
    },
  );

  it.each(["10.0.0.7", "2001:db8::1", undefined])(
    "a Fetch handler without authentication answers a caller from %s, which is not this machine",
    async (peer) => {
      expect(await send(peer)).toBe(200);
    },
  );

  it("a Fetch handler without authentication answers at `allowedHosts`", async () => {
    expect(await send("127.0.0.1", { allowedHosts: ["attacker.example"] })).toBe(200);
  });
});

it("`allowedHosts` of a mount are checked when it is made", async () => {
  await using agent = await createAgent(options);
  expect(agent).toBeDefined();
  await expect(createAgent({ ...options, allowedHosts: ["agents.example:8080"] })).rejects.toThrow(
    /^allowedHosts: "agents\.example:8080"/,
  );
});
