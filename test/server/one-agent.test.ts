import { artifact, Client, gateway, type ServeOptions, serve, type Turn } from "trivium";
import { describe, expect, it } from "vitest";
import { fixedPort } from "../support/fixed-port.js";
import { recordingLogger } from "../support/recording-logger.js";

const card = { name: "Alone", description: "Says for whom it works", version: "1.0.0" };
const settings = { port: 0, drainMs: 0 } as const;

async function* agent({ principal, tenant, text }: Turn) {
  yield artifact(`${principal.owner}/${tenant} ${text}`);
}

/** The server of one agent, and that of agents with names of which one is at the root. */
const forms = {
  "the one agent of a server": (more: Partial<ServeOptions> = {}) =>
    serve({ ...settings, logger: false, card, agent, ...more }),
  "an agent at the root": (more: Partial<ServeOptions> = {}) =>
    serve({ ...settings, logger: false, agents: { "/": { card, agent } }, ...more }),
};

const requests: readonly (readonly [path: string, init: RequestInit])[] = [
  ["/.well-known/agent-card.json", {}],
  ["/.well-known/agents", {}],
  ["/readyz", {}],
  ["/healthz", {}],
  ["/", {}],
  ["/unknown", {}],
  ["/json-rpc", { method: "POST", headers: { "content-type": "application/json" }, body: "{" }],
  ["/http-json/tasks/none", { headers: { "a2a-version": "1.0" } }],
  ["/http-json/tasks/none", { headers: { "a2a-version": "1.0", origin: "https://foreign.example" } }],
  ["/elsewhere", { headers: { origin: "https://foreign.example" } }],
  ["/readyz", { headers: { origin: "https://foreign.example" } }],
];

async function answersOf({ url, port }: { readonly url: string; readonly port: number }): Promise<readonly object[]> {
  const answers: object[] = [];
  for (const [path, init] of requests) {
    const answer = await fetch(url + path, init);
    const headers = ["content-type", "cache-control", "vary", "www-authenticate"].map((name) =>
      answer.headers.get(name),
    );
    const body = (await answer.text()).replaceAll(`:${port}`, ":port");
    answers.push({ path, status: answer.status, headers, body });
  }
  return answers;
}

describe("a server of one agent", () => {
  it.each([{}, { basePath: "/below" }])(
    "a server of one agent answers as one of several does that is at the root: %o",
    async (more) => {
      await using one = await forms["the one agent of a server"](more);
      await using several = await forms["an agent at the root"](more);
      expect(await answersOf(one)).toEqual(await answersOf(several));
    },
  );

  it.each(Object.entries(forms))(
    "a server of one agent leaves the tenants of requests to its callers, over every binding: %s",
    async (_, start) => {
      await using server = await start({ tenants: ["weather"] });
      for (const binding of ["JSONRPC", "GRPC", "HTTP+JSON"] as const) {
        await using client = await Client.connect(server.url, { prefer: [binding], cardCache: false });
        const answer = await client.send("hello", { tenant: "weather" });
        expect([binding, answer.text]).toEqual([binding, "anonymous/weather hello"]);
      }
    },
  );

  it("a server of one agent logs once that it listens, and once that its tasks are in memory", async () => {
    for (const start of Object.values(forms)) {
      const { log, logger } = recordingLogger();
      await using _server = await start({ logger });
      expect(log.map(({ message }) => message)).toEqual([
        "listening",
        "tasks are kept in memory and are lost with the process",
      ]);
    }
  });

  it.each(Object.entries(forms))(
    "a server of one agent leaves its port when its start fails after it listens: %s",
    async (_, start) => {
      const port = await fixedPort();
      const { logger } = recordingLogger();
      const info = (_fields: object, message?: string) => {
        if (message === "listening") throw new Error("the log is closed");
      };
      await expect(start({ port, logger: { ...logger, info } })).rejects.toThrow("the log is closed");
      await using server = await start({ port });
      expect(server.port).toBe(port);
    },
  );
});

describe("a gateway", () => {
  it("a gateway logs once that it listens, and has no tasks", async () => {
    await using server = await forms["the one agent of a server"]();
    const { log, logger } = recordingLogger();
    await using front = await gateway({ ...settings, upstream: server.url, logger });
    expect(log.filter(({ message }) => /listening|tasks/.test(message ?? ""))).toEqual([
      {
        level: "info",
        message: "listening",
        fields: {
          url: front.url,
          bindings: ["JSONRPC", "GRPC", "HTTP+JSON"],
          versions: expect.arrayContaining(["1.0"]),
        },
      },
    ]);
  });
});
