import { A2AError, type AnswerEvent, Client, type ConnectOptions } from "trivium/client";

// What a page or a worker does with the client. It runs in a browser and returns its result to the test as JSON.

/** The URLs of the agent and of the endpoint where a scenario asks the test for an action. */
export interface Target {
  readonly agent: string;
  /** A POST to this URL resolves when the test has done the action named after it. */
  readonly ask: string;
}

const textOf = (event: AnswerEvent): string => (event.type === "artifact" ? event.delta : "");

async function sendAndStream({ agent }: Target, options: ConnectOptions): Promise<unknown> {
  await using client = await Client.connect(agent, options);
  const task = await client.send("shout");
  const texts: string[] = [];
  for await (const item of client.stream("count 5")) if (textOf(item) !== "") texts.push(textOf(item));
  return {
    card: client.card.name,
    binding: client.connection?.binding,
    text: task.artifacts[0]?.text,
    streamed: texts.join(" "),
  };
}

async function codeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
    return "no error";
  } catch (error) {
    return error instanceof A2AError ? { code: error.code, challenge: error.challenge } : String(error);
  }
}

export const scenarios = {
  jsonRpc: (target) => sendAndStream(target, { prefer: ["JSONRPC"] }),
  httpJson: (target) => sendAndStream(target, { prefer: ["HTTP+JSON"] }),
  connect: (target) => sendAndStream(target, { prefer: ["CONNECT"] }),
  grpcWeb: (target) => sendAndStream(target, { prefer: ["GRPC"] }),

  /** Asks the test to break the connection in the middle of a stream. */
  async resume({ agent, ask }) {
    await using client = await Client.connect(agent);
    const texts: string[] = [];
    const recovered: unknown[] = [];
    for await (const item of client.stream("count 40, wait at 20")) {
      if (textOf(item) !== "") texts.push(textOf(item));
      if (item.recovered !== undefined) recovered.push(item.recovered);
      if (textOf(item) === "20") await fetch(`${ask}break`, { method: "POST" });
    }
    return { texts: texts.join(" "), recovered };
  },

  async putTogether({ agent }) {
    await using client = await Client.connect(agent);
    const stream = client.stream("count 5");
    let text = "";
    for await (const delta of stream.text) text += delta;
    const answer = await stream.answer;
    return { count: answer.artifacts.length, isSameText: text === answer.text, state: answer.state };
  },

  async errors({ agent }) {
    await using client = await Client.connect(agent, { retry: false });
    await using refused = await Client.connect(agent, {
      credentials: () => ({ headers: { authorization: "Bearer wrong" } }),
    });
    return {
      unknownTask: await codeOf(() => client.getTask({ id: "nobody-has-it" })),
      agent: await codeOf(() => client.send("refuse")),
      admission: await codeOf(() => refused.send("who")),
      nobodyThere: await codeOf(() => Client.connect("http://127.0.0.1:9", { retry: false })),
    };
  },

  /** Sends every header that a client may have to send. */
  async headers({ agent }) {
    const headers = { "x-api-key": "key-7" };
    await using client = await Client.connect(agent, { credentials: () => ({ headers }), extensions: ["urn:none"] });
    return (await client.send("who")).text;
  },

  /** Leaves a stream before its end and keeps the client open. */
  async leave({ agent }) {
    const client = await Client.connect(agent);
    for await (const item of client.stream("count 4, wait at 3")) if (textOf(item) === "3") break;
    return "left";
  },
} satisfies Record<string, (target: Target) => Promise<unknown>>;

export type Scenario = keyof typeof scenarios;
