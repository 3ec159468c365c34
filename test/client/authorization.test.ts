import { type AuthorizationPrompt, artifact, authRequired, Client, completed, serve, TaskState } from "trivium";
import { describe, expect, it } from "vitest";
import { authorizationExtension } from "../../src/protocol/authorization/request.js";
import { reply, statusEvent } from "../../src/protocol/events.js";

const card = { name: "Calendar", description: "Reads calendars", version: "1.0.0" };
const request = { url: "https://id.example/consent", userCode: "WDJB-MJHT", scopes: ["calendar"] };

/** An agent that waits for its host to wake it, and what it knows of its caller. */
async function calendar() {
  const extensions: (readonly string[])[] = [];
  const server = await serve({
    card,
    port: 0,
    logger: false,
    async *agent({ authorize, extensions: active }) {
      extensions.push(active);
      await authorize(request);
      yield artifact("Tuesday is free");
      yield completed();
    },
  });
  return { server, extensions, [Symbol.asyncDispose]: () => server.close() };
}

describe.each(["JSONRPC", "HTTP+JSON", "GRPC"])("a client with onAuthRequired over %s", (binding) => {
  const connect = (url: string, onAuthRequired?: (prompt: AuthorizationPrompt) => void | Promise<void>) =>
    Client.connect(url, { prefer: [binding], onAuthRequired });

  it("a client with onAuthRequired shows what to authorize, and answers after the authorization", async () => {
    await using here = await calendar();
    const prompts: AuthorizationPrompt[] = [];
    await using client = await connect(here.server.url, (prompt) => {
      prompts.push(prompt);
      void here.server.tasks.wake(prompt.taskId);
    });
    const answer = await client.send("When am I free?");
    expect([answer.state, answer.text]).toEqual(["completed", "Tuesday is free"]);
    const { taskId, contextId } = answer;
    const text =
      "To authorize the agent, open https://id.example/consent and enter the code WDJB-MJHT. It asks for: calendar";
    expect(prompts).toEqual([{ ...request, taskId, contextId, text }]);
    expect(here.extensions[0]).toContain(authorizationExtension);
    expect(client.card.capabilities?.extensions.map(({ uri }) => uri)).toContain(authorizationExtension);
  });

  it("onAuthRequired shows an authorization once, also for a task that is watched and read besides", async () => {
    await using here = await calendar();
    const prompts: AuthorizationPrompt[] = [];
    await using client = await connect(here.server.url, (prompt) => void prompts.push(prompt));
    const configuration = { returnImmediately: true };
    const { taskId } = await client.send("When am I free?", { configuration });
    const events = client.watch(taskId)[Symbol.asyncIterator]();
    while (prompts.length === 0) await events.next();
    await client.getTask({ id: taskId });
    await here.server.tasks.wake(taskId);
    for (let step = await events.next(); step.done !== true; ) step = await events.next();
    expect(prompts).toHaveLength(1);
  });

  it("a client with onAuthRequired fails the call with what the hook throws", async () => {
    await using here = await calendar();
    await using client = await connect(here.server.url, () => {
      throw new Error("the user closed the window");
    });
    await expect(client.send("When am I free?")).rejects.toThrow("the user closed the window");
  });

  // Requirements: V1-INTASK-10
  it("onAuthRequired gives text alone where the agent names a page that is not safe to open, or none", async () => {
    const hostile = (url: string) =>
      statusEvent(
        TaskState.AUTH_REQUIRED,
        reply("Open it!", { metadata: { [authorizationExtension]: { url, scopes: [] } } }),
      );
    await using server = await serve({
      card,
      port: 0,
      logger: false,
      async *agent({ text }) {
        yield text === "plain" ? authRequired("Ask Bob") : hostile(text);
      },
    });
    const prompts: AuthorizationPrompt[] = [];
    await using client = await connect(server.url, (prompt) => void prompts.push(prompt));
    for (const url of ["javascript:alert(1)", "file:///etc/passwd", "http://id.example/", "plain"]) {
      expect((await client.send(url)).state).toBe("auth-required");
    }
    expect(prompts.map(({ text, url }) => [text, url])).toEqual([
      ...Array(3).fill(["Open it!", undefined]),
      ["Ask Bob", undefined],
    ]);
  });

  it("without onAuthRequired the answer is auth-required, with the text", async () => {
    await using here = await calendar();
    await using client = await connect(here.server.url);
    const answer = await client.send("When am I free?");
    expect([answer.state, answer.text.slice(0, 53)]).toEqual([
      "auth-required",
      "To authorize the agent, open https://id.example/conse",
    ]);
  });
});
