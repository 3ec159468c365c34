import {
  A2AError,
  type Agent,
  artifact,
  type Binding,
  type ClientOptions,
  completed,
  type Gateway,
  type GatewayOptions,
  gateway,
  inputRequired,
  reply,
  type ServeOptions,
  type Server,
  serve,
  type Turn,
  working,
} from "trivium";
import { Client } from "../../src/client/node.js";
import { bindingNames, bindingRow } from "../../src/protocol/bindings.js";
import type { VersionName } from "../../src/version/versions.js";
import { type LogLine, recordingLogger } from "../support/recording-logger.js";
import { textIn } from "../support/say.js";

/** The bindings on which an agent can be served. */
export const bindings = bindingNames;

/** The actions of the agent behind the gateway, by the first word of a message. */
const script: Readonly<Record<string, (turn: Turn) => ReturnType<Agent>>> = {
  async *echo({ text }) {
    yield artifact(text.slice(5));
  },
  async *chunks() {
    yield working("begun");
    for (const word of ["one", "two", "three"]) yield artifact(word, { artifactId: "a", append: word !== "one" });
    yield completed("done");
  },
  async *ask({ ask, text }) {
    const answer = await ask(inputRequired("which one?"));
    yield artifact(`${text.slice(4)} ${textIn(answer.parts)}`);
  },
  async *say({ text }) {
    yield reply(text.slice(4));
  },
  async *wait({ signal }) {
    yield working("waiting");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  },
  async refuse() {
    throw new A2AError("invalidParams", "no such word", {
      violations: [{ field: "message.parts[0].text", description: "is no word" }],
      metadata: { hint: "look it up" },
    });
  },
  async busy() {
    throw new A2AError("resourceExhausted", "too much at once", { retryAfterMs: 90_000 });
  },
};

export const scripted: Agent = (turn) => {
  const [word = ""] = turn.text.split(" ");
  const scene = script[word] ?? script["echo"];
  if (scene === undefined) throw new TypeError(`nothing is written for ${word}`);
  return scene(turn);
};

export interface SceneOptions {
  readonly agent?: Agent;
  /** Options of the server behind the gateway. */
  readonly behind?: Partial<ServeOptions>;
  readonly gateway?: Partial<GatewayOptions>;
}

/** An agent with a gateway in front of it. */
export interface Scene {
  readonly behind: Server;
  readonly gateway: Gateway;
  /** The gateway's log. */
  readonly log: readonly LogLine[];
  /** A client of the gateway over one binding in one version, without retries. */
  over(binding: Binding, options?: ClientOptions & { readonly version?: VersionName }): Promise<Client>;
  [Symbol.asyncDispose](): Promise<void>;
}

const card = { name: "Behind", description: "Does what it is told", version: "1.2.3" };

export async function startScene({
  agent = scripted,
  behind = {},
  gateway: front = {},
}: SceneOptions = {}): Promise<Scene> {
  const server = await serve({ card, agent, port: 0, drainMs: 0, ...behind });
  const { log, logger } = recordingLogger();
  const served = await gateway({
    upstream: server.url,
    port: 0,
    drainMs: 0,
    logger,
    bindings,
    ...front,
    client: { cardCache: false, ...front.client },
  });
  const clients: Client[] = [];
  return {
    behind: server,
    gateway: served,
    log,
    async over(binding, { version = newest, ...options } = {}) {
      const client = await clientOf(served, binding, version, options);
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      await served.close();
      await server.close();
    },
  };
}

const newest: VersionName = "1.0";

async function clientOf(
  server: Server,
  binding: Binding,
  version: VersionName,
  options: ClientOptions,
): Promise<Client> {
  const { wire } = bindingRow(binding);
  // The oldest versions are not listed and are served at the same URL.
  const listed = server.card.supportedInterfaces.find(({ protocolBinding }) => protocolBinding === wire);
  if (listed === undefined) throw new TypeError(`the gateway has no ${wire}`);
  const supportedInterfaces = [{ ...listed, protocolVersion: version }];
  return Client.connect(
    { ...server.card, supportedInterfaces },
    { retry: false, grpcTls: false, extendedCard: false, ...options },
  );
}
