import fastify from "fastify";
import { Hono } from "hono";
import { artifact, createAgent, type MountedAgent, working } from "trivium";
import { fastifyAgent } from "trivium/fastify";
import { honoAgent } from "trivium/hono";
import { afterEach, beforeEach, expect, it } from "vitest";
import { requestOf } from "../support/say.js";

const cardPath = "/.well-known/agent-card.json";
const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } });

let agent: MountedAgent;
let goOn: PromiseWithResolvers<void>;
beforeEach(async () => {
  goOn = Promise.withResolvers();
  agent = await createAgent({
    card: { name: "Plugin", description: "Is part of an app", version: "1.0.0" },
    async *agent({ text }) {
      yield working();
      await goOn.promise;
      yield artifact(text);
    },
  });
});
afterEach(() => agent.close(0));

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const urlsOf = async (response: Response): Promise<string[]> =>
  ((await response.json()) as { supportedInterfaces: { url: string }[] }).supportedInterfaces.map(({ url }) => url);

it("an agent in Fastify is closed with its app, also while a stream is open", async () => {
  const app = fastify();
  app.register(
    fastifyAgent(() => agent),
    { prefix: "/a" },
  );
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const stream = await fetch(`${url}/a/http-json/message:stream`, { method: "POST", headers, body });
  const reader = stream.body?.getReader();
  await reader?.read();
  const closed = app.close();
  const refused = () => agent.inProcess().listTasks(requestOf("listTasks"), {});
  await expect.poll(() => refused().catch(({ code }) => code)).toBe("unavailable");
  goOn.resolve();
  await closed;
  let rest = "";
  for (let read = await reader?.read(); read?.done === false; read = await reader?.read()) rest += decode(read.value);
  expect(rest).toContain("TASK_STATE_COMPLETED");
});

it("an agent in Fastify keeps headers of the app's hooks, and its answer to unknown paths", async () => {
  const app = fastify();
  app.addHook("onRequest", async (_, reply) => {
    reply.header("x-app", "shop");
  });
  app.setNotFoundHandler((_, reply) => reply.code(404).send("no such page"));
  app.register(fastifyAgent(agent), { prefix: "/a" });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const card = await fetch(`${url}/a${cardPath}`);
  expect([card.status, card.headers.get("x-app")]).toEqual([200, "shop"]);
  expect(await (await fetch(`${url}/a/nothing`)).text()).toBe("no such page");
  expect(await (await fetch(`${url}/a`)).text()).toBe("no such page");
  await app.close();
});

it("an agent in Fastify fails the start of an app when it cannot be created", async () => {
  const app = fastify();
  app.register(fastifyAgent(Promise.reject(new Error("the database is away"))), { prefix: "/a" });
  await expect(app.ready()).rejects.toThrow("the database is away");
});

it("an agent in Fastify names the path of the request where the mount path has parameters", async () => {
  const app = fastify();
  app.register(fastifyAgent(agent), { prefix: "/teams/:team" });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  expect(await urlsOf(await fetch(`${url}/teams/a%20b${cardPath}`))).toContain(`${url}/teams/a%20b/json-rpc`);
  await app.close();
  const hono = new Hono().basePath("/api").all("/teams/:team/*", honoAgent(agent));
  const response = await hono.request(`http://app.example/api/teams/x${cardPath}`);
  expect(await urlsOf(response)).toContain("http://app.example/api/teams/x/json-rpc");
});
