import { setImmediate } from "node:timers/promises";
import { type Agent, artifact, Client, inputRequired, type ServeAgentsOptions, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { bindingNames } from "../../../src/protocol/bindings.js";
import { tries } from "../../support/tries.js";

const card = (name: string, version = "1.0.0") => ({ name, description: `The agent ${name}`, version });

const says = (word: string): Agent =>
  async function* ({ text, ask }) {
    if (text !== "ask") return yield artifact(`${word} ${text}`);
    const answer = await ask(inputRequired("?"));
    yield artifact(`${word} ${answer.messageId === "" ? "" : "asked"}`);
  };

const release = (word: string, more: object = {}) => ({ card: card("weather", word), agent: says(word), ...more });

function serveAll(options: ServeAgentsOptions) {
  return serve({ port: 0, drainMs: 0, logger: false, ...options });
}

describe("an agent of a server", () => {
  it("an agent stays as it is when its replacement names an impossible host", async () => {
    await using server = await serveAll({ agents: { "/weather": release("one") } });
    const impossible = server.agents.set("/weather", release("two", { hosts: ["public"] }));
    await expect(impossible).rejects.toThrow(/public/);
    await using client = await Client.connect(`${server.url}/weather`, { cardCache: false });
    expect((await client.send("hi")).text).toBe("one hi");
    await server.agents.set("/weather", release("two"));
    expect((await client.send("hi")).text).toBe("two hi");
  });

  it("an agent is added, replaced and removed while the server runs", async () => {
    await using server = await serveAll({ agents: {} });
    const cardOf = (etag = "") =>
      fetch(`${server.url}/weather/.well-known/agent-card.json`, { headers: { "if-none-match": etag } });
    expect((await cardOf()).status).toBe(404);
    expect([...server.agents]).toEqual([]);
    const added = await server.agents.set("/weather", release("one"));
    expect(added).toMatchObject({ path: "/weather", url: `${server.url}/weather` });
    const before = await cardOf();
    expect(await before.json()).toMatchObject({ version: "one" });
    const etag = before.headers.get("etag") ?? "";
    expect((await cardOf(etag)).status).toBe(304);
    for (const binding of bindingNames) {
      await server.agents.set("/weather", release("one"));
      await using client = await Client.connect(`${server.url}/weather`, { prefer: [binding], cardCache: false });
      const waiting = await client.send("ask");
      expect((await client.send("hi")).text).toBe("one hi");
      await server.agents.set("/weather", release("two"));
      expect((await client.send("hi")).text).toBe("two hi");
      // The turn that waits has the code that it began with.
      expect((await client.send("x", { continue: waiting })).text).toBe("one asked");
    }
    const after = await cardOf(etag);
    expect([after.status, await after.json()]).toMatchObject([200, { version: "two" }]);
    expect(added.card.version).toBe("two");
    expect(await server.agents.remove("/weather")).toBe(true);
    expect(await server.agents.remove("/weather")).toBe(false);
    expect((await cardOf()).status).toBe(404);
    expect(server.agents.get("/weather")).toBeUndefined();
    expect(() => added.card).toThrow("the agent at /weather was removed");
  });

  it("a removed agent is a path that does not exist, over any binding", async () => {
    await using server = await serveAll({
      basePath: "/api",
      agents: { "/weather": release("one"), "/b": release("b") },
    });
    const clients = await Promise.all(
      bindingNames.map((binding) =>
        Client.connect(`${server.url}/weather`, { prefer: [binding], cardCache: false, retry: false }),
      ),
    );
    for (const client of clients) expect((await client.send("hi")).text).toBe("one hi");
    await server.agents.remove("/weather");
    for (const client of clients) {
      await expect(client.send("hi")).rejects.toMatchObject({ code: "methodNotFound" });
      await expect(client.stream("hi").answer).rejects.toMatchObject({ code: "methodNotFound" });
      await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "methodNotFound" });
      if (client === clients[bindingNames.indexOf("GRPC")]) {
        await expect(client.send("hi")).rejects.toThrow("no agent at /weather: the tenant");
      }
      await client.close();
    }
    const texts = ["/weather/json-rpc", "/weather/.well-known/agent-card.json", "/.well-known/agent-card.json", "/b/x"];
    const answers = texts.map(async (path) => {
      const response = await fetch(`${server.url}${path}`);
      return [response.status, response.headers.get("content-type"), await response.text()];
    });
    const [type, weather] = ["text/plain; charset=utf-8", "no agent at /weather\n"];
    expect(await Promise.all(answers)).toEqual([
      [404, type, weather],
      [404, type, weather],
      [404, type, "no agent at /\n"],
      [404, type, "Not Found"],
    ]);
  });

  it("a removed agent leaves its tasks in the store for the next one with its id", async () => {
    await using server = await serveAll({ agents: { "/weather": release("one"), "/other": release("other") } });
    const connect = (path: string) => Client.connect(`${server.url}${path}`, { cardCache: false });
    await using client = await connect("/weather");
    const waiting = await client.send("ask");
    await server.agents.remove("/weather");
    await server.agents.set("/climate", release("two", { agentId: "weather" }));
    await using again = await connect("/climate");
    const id = waiting.taskId ?? "";
    expect((await again.getTask({ id })).id).toBe(id);
    // Its turn ended with the agent, so the message starts another one.
    expect((await again.send("hi", { continue: waiting })).text).toBe("two hi");
    await using other = await connect("/other");
    await expect(other.getTask({ id })).rejects.toMatchObject({ code: "taskNotFound" });
  });

  it("a removed agent has time to end its turns, and then they are aborted", async () => {
    const ended: string[] = [];
    const gates: (() => void)[] = [];
    const agent: Agent = async function* ({ signal, text }) {
      yield working();
      await new Promise<void>((resolve) => {
        gates.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
      ended.push(`${text} ${signal.aborted ? "aborted" : "done"}`);
    };
    await using server = await serveAll({ agents: { "/slow": { card: card("slow"), agent } } });
    await using client = await Client.connect(`${server.url}/slow`, { cardCache: false });
    const first = client.stream("first");
    const iterator = first[Symbol.asyncIterator]();
    while ((await iterator.next()).value?.type !== "status") await setImmediate();
    const removed = server.agents.remove("/slow", 60_000);
    await expect(client.send("no")).rejects.toThrow();
    gates[0]?.();
    expect(await removed).toBe(true);
    expect(ended).toEqual(["first done"]);
    await server.agents.set("/slow", { card: card("slow"), agent });
    const second = client.stream("second")[Symbol.asyncIterator]();
    while ((await second.next()).value?.type !== "status") await setImmediate();
    await server.agents.remove("/slow", 0);
    expect(ended).toEqual(["first done", "second aborted"]);
  });

  it("an agent stays as it is when its replacement is refused", async () => {
    await using server = await serveAll({ agents: { "/weather": release("one"), "/b": release("b") } });
    await using client = await Client.connect(`${server.url}/weather`);
    const refused = (more: object) => server.agents.set("/weather", { ...release("two"), ...more });
    await expect(refused({ card: { name: "x" } })).rejects.toThrow("card.description");
    await expect(refused({ agentId: "b" })).rejects.toThrow('has the agentId "b", which the agent at /b has');
    await expect(refused({ bindings: ["GRPC"], anonymous: "shared" })).rejects.toThrow("mounted on no binding");
    await expect(refused({ grpcPort: server.port })).rejects.toThrow("is taken");
    await expect(server.agents.set("weather", release("two"))).rejects.toThrow('must be "/"');
    expect((await client.send("hi")).text).toBe("one hi");
    expect(server.agents.get("/weather")?.card.version).toBe("one");
  });

  it("a closed server takes no changes of its agents", async () => {
    const server = await serveAll({ agents: { "/weather": release("one") } });
    await server.close();
    await expect(server.agents.set("/weather", release("two"))).rejects.toThrow("the server is closed");
  });
});

describe("an agent that is replaced under load", () => {
  it("an agent that is replaced under load fails no call, over any binding, unary or streamed", async () => {
    await using server = await serveAll({ agents: { "/weather": release("0"), "/calm": release("calm") } });
    const releases = tries(20, 200);
    let isOver = false;
    const answers = new Map<string, number>();
    const callers = bindingNames.flatMap((binding) =>
      (["send", "stream"] as const).map(async (way) => {
        const options = { prefer: [binding], cardCache: false, retry: false } as const;
        await using client = await Client.connect(`${server.url}/weather`, options);
        while (!isOver) {
          const answer = way === "send" ? await client.send("hi") : await client.stream("hi").answer;
          expect(answer.state).toBe("completed");
          const [word = ""] = answer.text.split(" ");
          answers.set(word, (answers.get(word) ?? 0) + 1);
        }
      }),
    );
    const load = Promise.all(callers);
    for (let number = 1; number <= releases; number++) {
      await server.agents.set("/weather", release(String(number)));
      // Until the new release has answered.
      while (!answers.has(String(number))) await Promise.race([setImmediate(), load]);
    }
    isOver = true;
    await load;
    expect(answers.size).toBeGreaterThanOrEqual(releases);
  });
});

describe("agents that are added and removed under load", () => {
  it("agents that are added and removed under load disturb no call of the others, over any binding", async () => {
    await using server = await serveAll({ agents: { "/calm": release("calm") } });
    let [isOver, calls] = [false, 0];
    const callers = bindingNames.flatMap((binding) =>
      (["send", "stream"] as const).map(async (way) => {
        const options = { prefer: [binding], cardCache: false, retry: false } as const;
        await using client = await Client.connect(`${server.url}/calm`, options);
        while (!isOver) {
          const answer = way === "send" ? await client.send("hi") : await client.stream("hi").answer;
          expect(answer.text).toBe("calm hi");
          calls += 1;
        }
      }),
    );
    const load = Promise.all(callers);
    for (let number = 1; number <= tries(20, 200); number++) {
      await server.agents.set("/guest", release(String(number)));
      const before = calls;
      // Until each caller may have called.
      while (calls < before + callers.length) await Promise.race([setImmediate(), load]);
      expect((await server.client("/guest").send("hi")).text).toBe(`${number} hi`);
      expect(await server.agents.remove("/guest")).toBe(true);
    }
    isOver = true;
    await load;
    expect([...server.agents].map(({ path }) => path)).toEqual(["/calm"]);
  });
});
