import { readFileSync } from "node:fs";
import { Client } from "trivium";
import { afterEach, describe, expect, it } from "vitest";
import { type RunningExample, runExample, startExample } from "../support/example.js";
import { say, taskOf, textIn } from "../support/say.js";

interface Sent {
  readonly task: {
    readonly id: string;
    readonly status: { readonly state: string };
    readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
  };
}

let running: RunningExample | undefined;

afterEach(async () => {
  await running?.stop();
});

async function start(name: string): Promise<string> {
  running = await startExample(name);
  return running.url;
}

async function send(url: string, text: string, taskId?: string): Promise<Sent> {
  const message = { messageId: "m-1", role: "ROLE_USER", parts: [{ text }], ...(taskId && { taskId }) };
  const response = await fetch(`${url}/http-json/message:send`, {
    method: "POST",
    headers: { "Content-Type": "application/a2a+json", "A2A-Version": "1.0" },
    body: JSON.stringify({ message }),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Sent;
}

const textOf = ({ task }: Sent): string | undefined => task.artifacts?.[0]?.parts[0]?.text;

describe("the examples", () => {
  it("the example hello repeats the message", async () => {
    const response = await send(await start("hello"), "good morning");
    expect(response.task.status.state).toBe("TASK_STATE_COMPLETED");
    expect(textOf(response)).toBe("good morning");
  });

  it("the example streaming puts the words of its model together to one part", async () => {
    const response = await send(await start("streaming"), "hello");
    expect(textOf(response)).toBe("You said hello. I have nothing to add.");
  });

  it.each([
    {
      way: "stays and waits",
      first: "a berth, please",
      answer: "MV Alba, 190 m",
      result: "Berth N4 fits: MV Alba, 190 m.",
    },
    {
      way: "returns and is started anew",
      first: "a berth, quick",
      answer: "MV Alba",
      result: "A berth for MV Alba is free from noon.",
    },
  ])("the example input-required asks back when it $way", async ({ first, answer, result }) => {
    const url = await start("input-required");
    const question = await send(url, first);
    expect(question.task.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    expect(textOf(await send(url, answer, question.task.id))).toBe(result);
  });

  it("the example report streams its progress and its report, and gives data and a file", async () => {
    await using client = await Client.connect(await start("report"));
    const stream = client.stream("The tide turns, the tide runs.");
    const texts: string[] = [];
    for await (const event of stream) {
      if (event.type === "status" && event.text !== "") texts.push(event.text);
      if (event.type === "artifact" && event.delta !== "") texts.push(event.delta);
    }
    expect(texts.slice(0, 2)).toEqual(["counting words", "writing about 4 words"]);
    expect(texts.slice(2).join("")).toBe("# Words\n\n- the: 2\n- tide: 2\n- turns: 1\n- runs: 1\n");
    const answer = await stream.answer;
    expect(answer.data()).toEqual({ the: 2, tide: 2, turns: 1, runs: 1 });
    const [csv] = answer.files;
    expect([csv?.name, new TextDecoder().decode(csv?.bytes())]).toEqual([
      "words.csv",
      "the,2\ntide,2\nturns,1\nruns,1\n",
    ]);
  });

  it("the examples hello and report are as short as the documents say", () => {
    const linesOf = (name: string): number => {
      const source = readFileSync(`examples/${name}/server.ts`, "utf8");
      return source.split("\n").filter((line) => line.trim() !== "").length;
    };
    expect(linesOf("hello")).toBeLessThanOrEqual(8);
    expect(linesOf("report")).toBeLessThanOrEqual(24);
  });

  it("the example conversation repeats what was said before in its context", async () => {
    const client = await Client.connect(await start("conversation"));
    const ask = async (text: string, contextId?: string) => {
      const { message } = await client.send(text, contextId === undefined ? {} : { continue: { contextId } });
      return { text: textIn(message?.parts), contextId: message?.contextId };
    };
    const { contextId } = await ask("good morning");
    expect((await ask("a berth, please", contextId)).text).toBe("2. Before that you said: good morning.");
    expect((await ask("for two nights", contextId)).text).toBe(
      "3. Before that you said: good morning, a berth, please.",
    );
    expect((await ask("good evening")).text).toBe("1. I have heard nothing before.");
    await client.close();
  });

  it.each(["express-mount", "fastify-mount", "hono-mount", "koa-mount"])(
    "the example %s answers the protocol below its path, and the app everything else",
    async (name) => {
      const url = await start(name);
      const client = await Client.connect(`${url}/agents/shouter`);
      expect(textIn(taskOf(await client.sendMessage(say("quiet"))).artifacts[0]?.parts)).toBe("QUIET");
      await client.close();
      expect(await (await fetch(`${url}/menu`)).text()).toBe("the shop's own page");
    },
  );

  it("the example several-agents serves agents on one port, and one asks the other", async () => {
    const url = await start("several-agents");
    expect(textOf(await send(`${url}/weather`, "Emden"))).toBe("Emden: rain until four");
    expect(textOf(await send(`${url}/travel`, "Emden"))).toBe("Take the train to Emden. (Emden: rain until four)");
    const { agents } = (await (await fetch(`${url}/.well-known/agents`)).json()) as { agents: { path: string }[] };
    expect(agents.map(({ path }) => path)).toEqual(["/weather", "/travel"]);
  });

  it("the example fetch-mount serves the card and calls through a Fetch handler", async () => {
    const url = await start("fetch-mount");
    expect(textOf(await send(url, "abc"))).toBe("cba");
    const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as { name: string };
    expect(card.name).toBe("Reverser");
  });

  it("the example gateway makes an old agent answer today's calls", async () => {
    const response = await send(await start("gateway"), "Emden");
    expect(textOf(response)).toBe("High water in Emden is at half past four.");
  });

  it("the example client answers what an agent asks back", async () => {
    const lines = (await runExample("client", [await start("input-required")])).split("\n");
    expect(lines).toEqual([
      "Berths: Finds a berth for a ship",
      "asks: For which ship, and how long is it?",
      "says: Berth N4 fits: MV Alba, 190 m.",
      "over JSONRPC",
      "",
    ]);
  });

  it("the example client-auth shows a token, and a better one when it is refused", async () => {
    expect(await runExample("client-auth")).toBe(
      "refused: unauthenticated, challenge: Bearer\nGood morning, harbour office.\n",
    );
  });
});
