import { Client, type ConnectOptions, type StreamItem } from "trivium/client";
import { addressPolicy } from "../../src/binding/fetch/address-policy.js";
import { createNodeFetch } from "../../src/binding/fetch/node-fetch.js";
import type { Target } from "../browser/scenarios.js";

// What runtimes other than browsers do with the client. The browser's scenarios run there too.

/** The URLs that scenarios use. */
export interface Locations extends Target {
  /** An agent that allows one stream at a time. */
  readonly narrow: string;
  /** An agent over TLS that requests a client certificate. */
  readonly secure: string;
  /** An agent with an API key in its card that redirects to another origin. */
  readonly leading: string;
  /** PEM: the certificate of the TLS agent, which also serves as a client certificate. */
  readonly cert: string;
  readonly key: string;
}

const numberOf = ({ response: { payload } }: StreamItem): string => {
  const content = payload.case === "artifactUpdate" ? payload.value.artifact?.parts[0]?.content : undefined;
  return content?.case === "text" ? content.value : "";
};

/** The name and code of an error. The bundled code has its own error class. */
function namesOf(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  return "code" in error && typeof error.code === "string" ? { code: error.code, message: error.message } : error.name;
}

async function failing(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
    return "no error";
  } catch (error) {
    return namesOf(error);
  }
}

/**
 * Reads a stream up to the third number, ends it there with `end`, and reports the effect. Another stream is admitted
 * once the first connection is gone, while the process lives.
 */
async function endedEarly(agent: string, client: Client, end: () => unknown, signal?: AbortSignal): Promise<unknown> {
  const outcome = await failing(async () => {
    for await (const item of client.stream("count 4, wait at 3", { signal })) {
      if (numberOf(item) === "3" && (await end()) === "break") break;
    }
  });
  await using other = await Client.connect(agent, { retry: false });
  let full = 0;
  for (;;) {
    const refused = await failing(async () => {
      for await (const item of other.stream("count 1")) if (numberOf(item) === "1") return;
    });
    if (refused === "no error") return { heard: outcome, roomAgain: true };
    full += 1;
    if (full === 200) return { heard: outcome, refused };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function askWho(address: string, options: ConnectOptions): Promise<unknown> {
  await using client = await Client.connect(address, { retry: false, ...options });
  const answer = await client.send("who");
  return { said: answer.message === undefined ? undefined : answer.text, binding: client.connection?.binding };
}

export const runtimeScenarios = {
  async leaveAStream({ narrow }) {
    await using client = await Client.connect(narrow);
    return await endedEarly(narrow, client, () => "break");
  },

  async abortAStream({ narrow }) {
    await using client = await Client.connect(narrow);
    const leaving = new AbortController();
    return await endedEarly(narrow, client, () => leaving.abort(), leaving.signal);
  },

  async closeTheClient({ narrow }) {
    const client = await Client.connect(narrow);
    return await endedEarly(narrow, client, () => client.close());
  },

  /** A secret is sent to the agent but not to the target of its redirect. */
  async secrets({ leading }) {
    await using client = await Client.connect(leading, { retry: false, credentials: { key: "hush-hush" } });
    return { card: client.card.name, error: await failing(() => client.send("go")) };
  },

  async certificates({ secure, cert, key }) {
    const tls = { ca: cert, cert, key };
    return {
      jsonRpc: await askWho(secure, { prefer: ["JSONRPC"], tls }),
      grpc: await askWho(secure, { prefer: ["GRPC"], tls }),
      unknown: await failing(() => askWho(secure, { retry: false })),
      unshown: await failing(() => askWho(secure, { retry: false, tls: { ca: cert } })),
    };
  },

  /** A card must not lead to forbidden addresses; host names are checked by the addresses they resolve to. */
  async addresses({ agent }) {
    const { port } = new URL(agent);
    const named = `http://made-up.example:${port}/.well-known/agent-card.json`;
    const lookup = async (): Promise<readonly string[]> => ["127.0.0.1"];
    const away = { allowPrivate: false, retry: false } as const;
    await using near = await Client.connect(agent);
    await using client = await Client.connect(near.card, away);
    const open = createNodeFetch({ lookup, policy: addressPolicy(["made-up.example"], "allow") });
    const strict = createNodeFetch({ lookup, policy: addressPolicy("public", "allow") });
    try {
      return {
        card: await failing(() => Client.connect(agent, away)),
        interface: await failing(() => client.send("who")),
        allowed: (await open(named)).status,
        forbidden: await failing(() => strict(named)),
      };
    } finally {
      await Promise.all([open.close(), strict.close()]);
    }
  },
} satisfies Record<string, (places: Locations) => Promise<unknown>>;
