import { type AgentOptions, artifact, Client, createAgent, type MountedAgent, working } from "trivium";
import { afterEach, describe, expect, it } from "vitest";
import { say, taskOf, textIn } from "../support/say.js";
import { type HostOptions, hosts, type Noted, type RunningApp } from "./hosts.js";

const card = { name: "Weather", description: "Says how the weather is", version: "1.0.0" };
const path = "/agents/weather";
const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" };
const bodyOf = (text: string): string =>
  JSON.stringify({ message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } });

let ends: (() => PromiseLike<void>)[] = [];
afterEach(async () => {
  for (const end of ends.toReversed()) await end();
  ends = [];
});

describe.each(hosts)("an agent below a path of $name", (host) => {
  async function start(options: Partial<AgentOptions> = {}, hostOptions: HostOptions = {}): Promise<string> {
    const agent = await createAgent({
      card,
      async *agent({ text, signal }) {
        yield working(`looking at ${text}`);
        if (text === "wait") await new Promise((_, reject) => signal.addEventListener("abort", reject));
        yield artifact(`${text}: sunny`);
      },
      ...options,
    });
    return `${await app({ [path]: agent }, hostOptions)}${path}`;
  }

  async function app(mounts: Readonly<Record<string, MountedAgent>>, options: HostOptions = {}): Promise<string> {
    for (const agent of Object.values(mounts)) ends.push(() => agent.close(0));
    const running: RunningApp = await host.start(mounts, options);
    ends.push(() => running[Symbol.asyncDispose]());
    return running.url;
  }

  it.each(["agent-card.json", "agent.json"])("a mounted agent has a card with its own URLs in %s", async (file) => {
    const url = await start();
    const response = await fetch(`${url}/.well-known/${file}?a=b`, { headers: { "A2A-Version": "1.0" } });
    expect(response.status).toBe(200);
    const { supportedInterfaces } = (await response.json()) as { supportedInterfaces: { url: string }[] };
    expect(new Set(supportedInterfaces.map((each) => each.url))).toEqual(
      new Set([`${url}/json-rpc`, `${url}/http-json`]),
    );
  });

  it.each(["JSONRPC", "HTTP+JSON"] as const)(
    "a mounted agent is called and streams over %s by its card",
    async (binding) => {
      await using client = await Client.connect(await start(), { prefer: [binding] });
      expect(textIn(taskOf(await client.sendMessage(say("Emden"))).artifacts[0]?.parts)).toBe("Emden: sunny");
      const kinds: (string | undefined)[] = [];
      for await (const { response } of client.sendStreamingMessage(say("Oslo"))) kinds.push(response.payload.case);
      expect(kinds).toEqual(["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    },
  );

  it("a mounted agent limits callers by their address where it knows them, else all together", async () => {
    const url = await start({ trustProxy: ["127.0.0.1", "::1"], rate: { address: { requests: "1/day" } } });
    const ask = async (address: string) => {
      const init = { method: "POST", headers: { ...headers, "X-Forwarded-For": address }, body: bodyOf("Emden") };
      return (await fetch(`${url}/http-json/message:send`, init)).status;
    };
    expect([await ask("192.0.2.1"), await ask("192.0.2.1"), await ask("192.0.2.2")]).toEqual([
      ...[200, 429, host.knowsPeers ? 200 : 429],
    ]);
  });

  it("a mounted agent takes bodies that the app has parsed", async () => {
    const url = await start({}, { parsesBodies: true });
    const calls = ["application/json", "application/a2a+json"].map((type) =>
      fetch(`${url}/http-json/message:send`, {
        method: "POST",
        headers: { ...headers, "Content-Type": type },
        body: bodyOf("Kyōto"),
      }),
    );
    for (const response of await Promise.all(calls)) {
      expect(await response.json()).toMatchObject({ task: { artifacts: [{ parts: [{ text: "Kyōto: sunny" }] }] } });
    }
  });

  it("a mounted agent sends events as they come, ends the stream of a reader who leaves, and resumes it", async () => {
    const url = await start({ limits: { streamsPerProcess: 1 } });
    const leaving = new AbortController();
    const first = await fetch(`${url}/http-json/message:stream`, {
      method: "POST",
      headers,
      body: bodyOf("wait"),
      signal: leaving.signal,
    });
    expect(first.headers.get("content-type")).toBe("text/event-stream");
    const text = await untilText(first, "looking at wait");
    const id = /"task":\{"id":"([^"]+)"/.exec(text)?.[1];
    const [firstEventId = ""] = idsIn(text);
    leaving.abort();
    // There is room for one stream only: it is free once the server has noticed.
    const subscribe = { headers: { ...headers, "Last-Event-ID": firstEventId } };
    let resumed = first;
    const again = async (): Promise<number> => {
      resumed = await fetch(`${url}/http-json/tasks/${id}:subscribe`, subscribe);
      return resumed.status;
    };
    await expect.poll(again).toBe(200);
    await fetch(`${url}/http-json/tasks/${id}:cancel`, { method: "POST", headers, body: "{}" });
    const rest = await resumed.text();
    expect(rest).toContain("looking at wait");
    expect(rest).toContain("TASK_STATE_CANCELED");
    expect(idsIn(rest)).not.toContain(firstEventId);
  });

  it("a mounted agent speaks the version that a call declares", async () => {
    const url = await start();
    const message = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "Bergen" }] };
    const response = await fetch(`${url}/json-rpc`, {
      method: "POST",
      headers: { ...headers, "A2A-Version": "0.3" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }),
    });
    expect(await response.json()).toMatchObject({ result: { kind: "task", status: { state: "completed" } } });
  });

  it("a mounted agent answers preflights of its own", async () => {
    const url = await start({ cors: { origins: ["https://app.example"] } });
    const response = await fetch(`${url}/http-json/message:send`, {
      method: "OPTIONS",
      headers: { Origin: "https://app.example", "Access-Control-Request-Method": "POST" },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://app.example");
  });

  it("a mounted agent knows the user that middleware before it has found", async () => {
    const url = await start({
      authenticate({ request }) {
        const { user = "" } = request as Noted;
        return { owner: user };
      },
      async *agent({ principal }) {
        yield artifact(principal.owner);
      },
    });
    const as = (user: string): Promise<Response> =>
      fetch(`${url}/http-json/message:send`, {
        method: "POST",
        headers: { ...headers, Authorization: `Bearer ${user}` },
        body: bodyOf("who am I"),
      });
    expect(await (await as("bad")).text()).not.toContain("error");
    const answer = await (await as("ann")).json();
    if (host.keepsRequest) expect(answer).toMatchObject({ task: { artifacts: [{ parts: [{ text: "ann" }] }] } });
    else expect(answer).toMatchObject({ error: { code: 401 } });
    expect((await fetch(`${url}/http-json/tasks`, { headers })).status).toBe(401);
  });

  it("a mounted agent leaves other paths to the app", async () => {
    const url = await start();
    expect(await (await fetch(new URL("/menu", url))).text()).toBe("the app's own page");
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
    expect((await fetch(`${url}x/json-rpc`, { method: "POST", headers, body: "{}" })).status).toBe(404);
  });
});

function idsIn(events: string): readonly string[] {
  return [...events.matchAll(/^id: (.*)$/gm)].map((match) => match[1] ?? "");
}

/** Reads a stream until it has shown a text. */
async function untilText(response: Response, wanted: string): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(wanted)) {
    const { value, done } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) throw new Error(`the stream ended before ${wanted}: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
