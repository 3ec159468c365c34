import { completed, serve } from "trivium";
import { expect, it } from "vitest";

const card = { name: "Slashed", description: "Is called with a slash at the end", version: "1" };
const agent = async () => completed("done");
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
const old = {
  message: { kind: "message", messageId: "o", role: "user", parts: [{ kind: "text", text: "go" }] },
};

const options = { port: 0, logger: false } as const;

async function serveAll() {
  const one = await serve({ ...options, card, agent });
  const based = await serve({ ...options, card, agent, basePath: "/base" });
  const many = await serve({ ...options, catalogue: true, agents: { "/a": { card, agent } } });
  return {
    one,
    based,
    many,
    [Symbol.asyncDispose]: () => Promise.all([one.close(), based.close(), many.close()]).then(() => {}),
  };
}

const post = (body: unknown, version = "1.0") => ({
  method: "POST",
  headers: { "Content-Type": "application/json", "A2A-Version": version },
  body: JSON.stringify(body),
});

const calls: readonly (readonly [path: string, init: RequestInit])[] = [
  ["/.well-known/agent-card.json/", {}],
  ["/.well-known/agent.json/", {}],
  ["/json-rpc/", post(rpc)],
  ["/http-json/message:send/", post({ message })],
  ["/http-json/message:stream/", post({ message })],
  ["/http-json/tasks/", { headers: { "A2A-Version": "1.0" } }],
  [
    "/http-json/v1/message:send/",
    post({ message: { messageId: "p", role: "ROLE_USER", content: [{ text: "go" }] } }, "0.3"),
  ],
  ["/lf.a2a.v1.A2AService/SendMessage/", post({ message })],
  ["/", post({ ...rpc, method: "message/send", params: old }, "0.3")],
];

it.each(calls)("a slash at the end of the path changes nothing: %s", async (path, init) => {
  await using servers = await serveAll();
  for (const base of [servers.one.url, servers.based.url, `${servers.many.url}/a`]) {
    const response = await fetch(`${base}${path}`, init);
    expect([base, response.status]).toEqual([base, 200]);
    await response.text();
  }
});

it("the list of the agents of a port is found with a slash too", async () => {
  await using servers = await serveAll();
  expect((await fetch(`${servers.many.url}/.well-known/agents/`)).status).toBe(200);
});
