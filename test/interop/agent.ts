import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import compression from "compression";
import express from "express";
import {
  A2AError,
  type Agent,
  type AgentEvent,
  type AgentServer,
  type AgentsServer,
  artifact,
  authRequired,
  type CardOptions,
  completed,
  createAgent,
  data,
  file,
  inputRequired,
  type MountedAgent,
  type Principal,
  rejected,
  reply,
  type ServeOptions,
  type Server,
  serve,
  streamArtifact,
  type Turn,
  text,
  working,
} from "trivium";
import { expressAgent } from "trivium/express";
import { openConsentPage } from "./consent.js";
import { auth } from "./guarded.js";

// The agent that the official clients call. The first word of a message selects its behavior, and the clients' cases
// say what they expect.

// The Python SDK gives up a stream after 5 s without a byte by default.
const silenceMs = 5500;

async function* pong({ text }: Turn): AsyncIterable<AgentEvent> {
  yield reply(`pong ${text}`);
}

async function* echo({ message }: Turn): AsyncIterable<AgentEvent> {
  yield reply(message.parts, { metadata: message.metadata });
}

async function* work(): AsyncIterable<AgentEvent> {
  yield working("on it");
  yield artifact("one ", { artifactId: "report", name: "Report" });
  yield artifact("two", { artifactId: "report", append: true, lastChunk: true });
  const numbers = data({ count: 3, ratio: 0.5, nested: { list: [1, null, "x"] } });
  const bytes = file(Uint8Array.of(0, 1, 254, 255), { filename: "raw.bin", mediaType: "application/octet-stream" });
  yield artifact([numbers, bytes], { artifactId: "extra" });
  yield completed("done");
}

async function* count(): AsyncIterable<AgentEvent> {
  yield* streamArtifact(numbers(500));
}

async function* numbers(upTo: number): AsyncIterable<string> {
  for (let number = 0; number < upTo; number++) yield `${number},`;
}

async function* ask({ task, text }: Turn): AsyncIterable<AgentEvent> {
  if (task === undefined) yield inputRequired("which one?");
  else yield artifact(`you said ${text}`);
}

async function* login(): AsyncIterable<AgentEvent> {
  yield authRequired("log in first");
}

async function* wait({ receive }: Turn): AsyncIterable<AgentEvent> {
  yield working("waiting");
  const answer = await receive();
  yield artifact([text("heard "), ...answer.parts]);
}

async function* hush({ signal }: Turn): AsyncIterable<AgentEvent> {
  yield working("thinking");
  await sleep(silenceMs, undefined, { signal });
  yield artifact("at last");
}

async function* refuse(): AsyncIterable<AgentEvent> {
  yield rejected("not that");
}

async function* crash(): AsyncIterable<AgentEvent> {
  yield working();
  throw new Error("a secret of the agent");
}

async function picky(): Promise<never> {
  throw new A2AError("contentTypeNotSupported", "no pictures, please");
}

async function* activated({ extensions }: Turn): AsyncIterable<AgentEvent> {
  yield reply(extensions.join(" "));
}

const behaviours: ReadonlyMap<string, Agent> = new Map(
  Object.entries({ pong, echo, work, count, ask, login, wait, hush, refuse, crash, picky, extensions: activated }),
);

/** Does what the first word says; `more` are behaviors by further words. */
const agentWith =
  (more: Readonly<Record<string, Agent>>): Agent =>
  (turn) => {
    const [first] = turn.task?.history ?? [turn.message];
    const part = first?.parts[0]?.content;
    const word = part?.case === "text" ? (part.value.split(" ")[0] ?? "") : "";
    return (more[word] ?? behaviours.get(word) ?? pong)(turn);
  };

const agent = agentWith({});

const card: CardOptions = {
  name: "Interop",
  description: "Does what the first word of a message says",
  version: "1.2.3",
  provider: { organization: "Trivium", url: "https://trivium.example" },
  skills: [{ id: "words", name: "Words", description: "Does what a word says", tags: ["test"], examples: ["work"] }],
  defaultInputModes: ["text/plain", "application/json", "application/octet-stream"],
  extensions: [{ uri: "urn:trivium:interop", description: "named by the client" }],
};

const inner = { id: "inner", name: "Inner", description: "For callers who are known", tags: ["test"] };

function identify(owner: string): Principal {
  if (owner === "stranger") throw new A2AError("unauthenticated", "who are you?", { challenge: "Bearer" });
  return { owner };
}

const authenticate: ServeOptions["authenticate"] = ({ header }) => identify(header("authorization") ?? "guest");

/** An agent with everything enabled: push, an extended card, and a page on which its callers authorize it. */
async function everything(served: () => Pick<AgentServer, "tasks"> | undefined) {
  const page = await openConsentPage(async (taskId, owner) => served()?.tasks.wake(taskId, undefined, { owner }));
  const authorize: Agent = async function* ({ authorize: ask, taskId, principal: { owner } }) {
    const { message } = await ask({ url: page.urlFor({ taskId, owner }), userCode: "WDJB", scopes: ["calendar"] });
    yield artifact(message === undefined ? "authorized on the page" : "authorized by a message");
  };
  const extended = { skills: [inner] };
  return { card: { ...card, extended }, agent: agentWith({ authorize }), push: { allow: "loopback" } } as const;
}

/** Serves an agent with everything enabled, and owners distinguished by `Authorization`. */
export async function serveFull(options: Pick<ServeOptions, "port" | "publicGrpc"> = {}): Promise<AgentServer> {
  const server: AgentServer = await serve({ port: 0, ...options, ...(await everything(() => server)), authenticate });
  return server;
}

/** Serves the same agent to callers with credentials alone. */
export function serveGuarded(): Promise<Server> {
  return serve({ port: 0, card, agent, auth });
}

/** Serves the same agent without any optional capability. */
export function servePlain(): Promise<Server> {
  return serve({ port: 0, card, agent });
}

/** The three agents in an Express app behind `compression()`, at `/full`, `/plain` and `/guarded` of its URL. */
export async function serveBehindCompression(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const full: MountedAgent = await createAgent({ ...(await everything(() => full)), authenticate });
  const agents = [full, await createAgent({ card, agent }), await createAgent({ card, agent, auth })] as const;
  const app = express();
  app.use(compression({ threshold: 0 }));
  for (const [index, path] of ["/full", "/plain", "/guarded"].entries()) {
    const mounted = agents[index];
    if (mounted !== undefined) app.use(path, expressAgent(mounted));
  }
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await Promise.all(agents.map((each) => each.close(0)));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Serves the three agents under paths of one server. Over gRPC the first two are reached by their names as tenants; the
 * one with an authentication of its own has a port.
 */
export async function serveSeveral(): Promise<AgentsServer> {
  const full = await everything(() => server.agents.get("/full"));
  const server: AgentsServer = await serve({
    port: 0,
    authenticate,
    agents: { "/full": full, "/plain": { card, agent }, "/guarded": { card, agent, auth, grpcPort: 0 } },
  });
  return server;
}
