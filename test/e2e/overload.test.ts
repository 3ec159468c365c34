import { createAgent, reply, serve, working } from "trivium";
import { expect, it } from "vitest";
import { createGrpcTransport } from "../../src/binding/grpc/client.js";
import { connectTo } from "../../src/testing/index.js";
import { adapter } from "../support/grpc-agent.js";
import { errorOf, say } from "../support/say.js";

// Callers that are not told apart share the turns of the process.

it("more anonymous sends at once than an owner may have turns are all answered", async () => {
  const agent = await createAgent({ card, agent: async ({ text }) => reply(text) });
  await using client = await connectTo(agent);
  const sends = Array.from({ length: 1200 }, (_, index) => client.send(`${index}`));
  const answers = await Promise.all(sends);
  expect(answers.every(({ state }) => state === "message")).toBe(true);
});

const card = { name: "Full", description: "Has one turn", version: "1" };

const waiting = async function* ({ signal }: { readonly signal: AbortSignal }) {
  yield working();
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
};

it.each([
  ["turnsPerOwner", 429, "RESOURCE_EXHAUSTED"],
  ["turnsPerProcess", 503, "UNAVAILABLE"],
] as const)("%s is reported as overload in each binding's own form", async (limit, status, reason) => {
  const server = await serve({
    card,
    port: 0,
    drainMs: 0,
    limits: { [limit]: 1, turnWaitMs: 20, graceMs: 10 },
    agent: waiting,
  });
  try {
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    const configuration = { returnImmediately: true };
    const call = async (path: string, body: unknown): Promise<Response> => {
      const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
      return fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    };
    const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message, configuration } };
    expect((await call("/json-rpc", rpc)).status).toBe(200);
    const refused = await call("/json-rpc", rpc);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([status, "1"]);
    const { error } = (await refused.json()) as { error: { code: number; data: readonly object[] } };
    expect(error.code).toBe(-32603);
    expect(error.data).toContainEqual(
      expect.objectContaining({ reason, metadata: expect.objectContaining({ limit }) }),
    );
    const overHttp = await call("/http-json/message:send", { message, configuration });
    expect([overHttp.status, overHttp.headers.get("retry-after")]).toEqual([status, "1"]);
    const overConnect = await call("/lf.a2a.v1.A2AService/SendMessage", { message, configuration });
    expect([overConnect.status, ((await overConnect.json()) as { code: string }).code]).toEqual([
      status,
      reason.toLowerCase(),
    ]);
    const grpc = createGrpcTransport({ address: `127.0.0.1:${server.port}`, adapter });
    expect(await errorOf(grpc.sendMessage(say("go"), {}))).toMatchObject({
      code: limit === "turnsPerOwner" ? "resourceExhausted" : "unavailable",
      retryAfterMs: 1000,
      metadata: { limit },
    });
    grpc.close();
  } finally {
    await server.close();
  }
});
