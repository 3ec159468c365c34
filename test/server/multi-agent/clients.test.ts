import {
  type A2AError,
  type Agent,
  type AgentsServer,
  artifact,
  Client,
  inputRequired,
  reply,
  type ServeAgentsOptions,
  serve,
  type Turn,
  working,
} from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, expectTypeOf, it } from "vitest";
import { recordingLogger } from "../../support/recording-logger.js";

const card = (name: string, more: object = {}) => ({
  name,
  description: `The agent ${name}`,
  version: "1.0.0",
  ...more,
});

function serveAll(options: ServeAgentsOptions) {
  return serve({ port: 0, drainMs: 0, logger: false, ...options });
}

/** Passes its text on to the agent at a path, and adds its own name. */
const asks = (path: string): Agent =>
  async function* ({ client, text }) {
    yield artifact(`asked: ${(await client(path).send(text)).text}`);
  };

const tells: Agent = async function* ({ principal, tenant, text }) {
  yield artifact(`${principal.owner}/${tenant} ${text}`);
};

const keyed = (...skills: readonly string[]) => ({
  schemes: {
    key: apiKey({
      in: "header",
      name: "x-key",
      verify: (key) => ({ subject: key, scopes: key === "alice" ? ["book"] : [] }),
    }),
  },
  skills: Object.fromEntries(skills.map((id) => [id, [{ key: ["book"] }]])),
  skillOf: () => skills[0],
});

function connect(server: AgentsServer, path: string, key?: string): Promise<Client> {
  const headers = key === undefined ? {} : { "x-key": key };
  return Client.connect(`${server.url}${path}`, { headers, cardCache: false, retry: false });
}

/** An agent whose turn stays until it is aborted, and says so. */
function staying() {
  const { promise: turnStart, resolve: begin } = Promise.withResolvers<Turn>();
  const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
  const agent: Agent = async function* (turn) {
    yield working();
    begin(turn);
    await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve(), { once: true }));
    end(turn.signal.reason);
  };
  return { agent, turnStart, ended };
}

describe("an agent that calls another one of its server", () => {
  it("an agent gets answers, streams and tasks of another without a network, for its own caller", async () => {
    const many: Agent = async function* ({ client }) {
      const tells = client("/tells");
      const answer = await tells.send("one");
      const stream = await tells.stream("two").answer;
      const task = await tells.getTask({ id: answer.taskId ?? "" });
      const same = (await tells.listTasks({})).tasks.length;
      yield artifact([answer.text, stream.text, task.id === answer.taskId, same, tells.connection?.binding].join(", "));
    };
    await using server = await serveAll({
      auth: keyed(),
      agents: { "/many": { card: card("many"), agent: many }, "/tells": { card: card("tells"), agent: tells } },
    });
    await using client = await connect(server, "/many", "alice");
    const { text } = await client.send("go");
    expect(text).toBe("key#alice/ one, key#alice/ two, true, 2, urn:trivium:binding:in-process:v1");
    // Its tasks are those of the caller, who finds them over the network.
    await using direct = await connect(server, "/tells", "alice");
    expect((await direct.listTasks({})).tasks).toHaveLength(2);
    await using other = await connect(server, "/tells", "bobby");
    expect((await other.listTasks({})).tasks).toHaveLength(0);
  });

  it("an agent calls the release of another that is there at the time of the call", async () => {
    const twice: Agent = async function* ({ client, ask }) {
      const weather = client("/weather");
      const before = await weather.send("x");
      await ask(inputRequired("?"));
      yield artifact(`${before.text}, ${(await weather.send("x")).text}, ${weather.card.version}`);
    };
    const release = (word: string) => ({ card: card("weather", { version: word }), agent: async () => reply(word) });
    await using server = await serveAll({
      agents: { "/twice": { card: card("t"), agent: twice }, "/weather": release("1") },
    });
    await using client = await connect(server, "/twice");
    const waiting = await client.send("go");
    await server.agents.set("/weather", release("2"));
    expect((await client.send("on", { continue: waiting })).text).toBe("1, 2, 2");
  });

  it("a task of another agent is canceled with the task that waits for it", async () => {
    const { agent, turnStart, ended } = staying();
    await using server = await serveAll({
      agents: { "/asks": { card: card("asks"), agent: asks("/stays") }, "/stays": { card: card("stays"), agent } },
    });
    await using client = await connect(server, "/asks");
    const answer = client.send("go", { configuration: { returnImmediately: true } });
    const { taskId } = await turnStart;
    await client.cancel((await answer).taskId ?? "");
    expect(await ended).toMatchObject({ kind: "Canceled" });
    await using direct = await connect(server, "/stays");
    expect((await direct.wait(taskId)).state).toBe("canceled");
  });

  it("a call of another agent takes the deadline of its turn along", async () => {
    const { agent, ended } = staying();
    await using server = await serveAll({
      agents: {
        "/asks": { card: card("asks"), agent: asks("/stays"), limits: { turnDeadlineMs: 3000 } },
        "/stays": { card: card("stays"), agent },
      },
    });
    await using client = await connect(server, "/asks");
    // Whichever timer is first at that time: of the turn, or of the call that it makes.
    const outcome = await client.send("go").then(
      ({ state }) => state,
      ({ code }: A2AError) => code,
    );
    expect(["failed", "deadlineExceeded"]).toContain(outcome);
    expect(await ended).toMatchObject({ kind: expect.stringMatching(/^(?:Canceled|DeadlineExceeded)$/) });
  });

  it("a call takes its deadline along to an agent that has said nothing yet", async () => {
    const { promise: turnStart, resolve: begin } = Promise.withResolvers<Turn>();
    const silent: Agent = async (turn) => {
      begin(turn);
      await new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }));
    };
    await using server = await serveAll({
      limits: { taskAfterMs: 600_000 },
      agents: {
        "/asks": { card: card("asks"), agent: asks("/stays"), limits: { turnDeadlineMs: 3000 } },
        "/stays": { card: card("stays"), agent: silent },
      },
    });
    await using client = await connect(server, "/asks");
    const outcome = client.send("go").catch(() => "");
    const { signal } = await turnStart;
    await outcome;
    await expect.poll(() => signal.reason, { timeout: 20_000 }).toMatchObject({ kind: "DeadlineExceeded" });
  });

  it("an agent starts a task of another without waiting for its end", async () => {
    const { agent, ended } = staying();
    const starts: Agent = async function* ({ client }) {
      const { taskId } = await client("/stays").send("go", { configuration: { returnImmediately: true } });
      yield artifact(taskId);
    };
    await using server = await serveAll({
      agents: { "/starts": { card: card("starts"), agent: starts }, "/stays": { card: card("stays"), agent } },
    });
    await using client = await connect(server, "/starts");
    const { text: taskId } = await client.send("go");
    await using direct = await connect(server, "/stays");
    await direct.cancel(taskId);
    expect(await ended).toMatchObject({ kind: "Canceled" });
  });

  it("a call of another agent passes on the id of the request and the trace", async () => {
    const { log, logger } = recordingLogger();
    let values: (string | undefined)[] = [];
    const sees: Agent = async ({ header }) => {
      values = [header("traceparent"), header("x-request-id"), header("authorization"), header("x-own")];
    };
    const calls: Agent = async ({ client }) => {
      await client("/sees", { headers: { "x-own": "1" } }).send("x");
    };
    await using server = await serveAll({
      logger,
      accessLog: true,
      agents: { "/calls": { card: card("calls"), agent: calls }, "/sees": { card: card("sees"), agent: sees } },
    });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { traceparent, "x-request-id": "request-7", authorization: "Bearer secret" };
    await using client = await Client.connect(`${server.url}/calls`, { headers });
    await client.send("go");
    expect(values).toEqual([traceparent, "request-7", undefined, "1"]);
    const calls7 = log.filter(
      ({ message, fields }) => message === "call" && "requestId" in fields && fields.requestId === "request-7",
    );
    expect(calls7.map(({ fields }) => fields)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ agent: "/sees", binding: "in-process", operation: "SendStreamingMessage" }),
        expect.objectContaining({ agent: "/calls", binding: "JSONRPC", operation: "SendMessage" }),
      ]),
    );
  });

  it("calls between agents do not go round for ever", async () => {
    await using server = await serveAll({
      limits: { agentCallDepth: 4 },
      agents: {
        "/one": { card: card("one"), agent: asks("/two") },
        "/two": {
          card: card("two"),
          agent: async ({ client, text }) => reply((await client("/one").send(text)).text || "failed below"),
        },
      },
    });
    await using client = await connect(server, "/one");
    await expect(client.send("go")).rejects.toMatchObject({
      code: "resourceExhausted",
      message: "the chain of agent calls is too long (… /one → /two → /one → /two): the limit is 4 (agentCallDepth)",
      metadata: { limit: "agentCallDepth" },
    });
  });

  it("a call of another agent needs a principal where agents identify their callers by themselves", async () => {
    const explicit: Agent = async ({ client }) =>
      reply((await client("/own", { principal: { owner: "guest" } }).send("hi")).text);
    await using server = await serveAll({
      auth: keyed(),
      agents: {
        "/asks": { card: card("asks"), agent: asks("/own") },
        "/explicit": { card: card("explicit"), agent: explicit },
        "/own": { card: card("own"), agent: tells, auth: keyed() },
      },
    });
    await using client = await connect(server, "/asks", "alice");
    expect((await client.send("go")).state).toBe("failed");
    await using other = await connect(server, "/explicit", "alice");
    expect((await other.send("go")).text).toBe("guest/ hi");
  });

  it("an agent may not do more than its caller: the requirements of skills hold on", async () => {
    await using server = await serveAll({
      agents: {
        "/asks": { card: card("asks"), agent: asks("/books") },
        "/books": {
          card: card("books", { skills: [{ id: "book", name: "Book", description: "Books", tags: ["book"] }] }),
          agent: tells,
        },
      },
      auth: keyed("book"),
    });
    await using alice = await connect(server, "/asks", "alice");
    expect((await alice.send("go")).text).toBe("asked: key#alice/ go");
    await using bobby = await connect(server, "/asks", "bobby");
    await expect(bobby.send("go")).rejects.toMatchObject({ code: "permissionDenied" });
  });

  it("an agent that calls another may end its work while the server shuts down", async () => {
    const { promise: turnStart, resolve: begin } = Promise.withResolvers<void>();
    const { promise: closing, resolve: close } = Promise.withResolvers<void>();
    const slow: Agent = async function* ({ client }) {
      yield working();
      begin();
      await closing;
      yield artifact((await client("/tells").send("late")).text);
    };
    const server = await serveAll({
      drainMs: 60_000,
      agents: { "/slow": { card: card("slow"), agent: slow }, "/tells": { card: card("tells"), agent: tells } },
    });
    await using client = await connect(server, "/slow");
    const { answer } = client.stream("go");
    await turnStart;
    const closed = server.close();
    await using late = await connect(server, "/tells");
    await expect(late.send("x")).rejects.toMatchObject({ code: "unavailable" });
    close();
    expect((await answer).text).toBe("anonymous/ late");
    await closed;
  });

  it("the client of another agent is for the compiler what a client of the network is", () => {
    type TurnClient = ReturnType<Turn["client"]>;
    expectTypeOf<TurnClient["send"]>().toEqualTypeOf<Client["send"]>();
    expectTypeOf<TurnClient["stream"]>().toEqualTypeOf<Client["stream"]>();
    expectTypeOf<TurnClient["getTask"]>().toEqualTypeOf<Client["getTask"]>();
    expectTypeOf<keyof Client>().toEqualTypeOf<keyof TurnClient>();
  });

  it("a call of another agent says which agents there are when a path is wrong", async () => {
    let error: unknown;
    const wrong: Agent = async ({ client }) => {
      try {
        client("/tels");
      } catch (thrown) {
        error = thrown;
      }
    };
    await using server = await serveAll({
      agents: { "/wrong": { card: card("wrong"), agent: wrong }, "/tells": { card: card("t"), agent: tells } },
    });
    await using client = await connect(server, "/wrong");
    await client.send("go");
    expect(String(error)).toBe('TypeError: turn.client(): there is no agent at "/tels": did you mean "/tells"?');
    await using alone = await serve({ port: 0, drainMs: 0, logger: false, card: card("wrong"), agent: wrong });
    await using other = await Client.connect(alone.url, { cardCache: false });
    await other.send("go");
    expect(String(error)).toBe("TypeError: turn.client() needs a server of several agents: serve({ agents })");
  });
});

describe("a program that calls an agent of its server", () => {
  it("a program that calls an agent of its server names the principal, whose tasks are used", async () => {
    await using server = await serveAll({
      auth: keyed(),
      agents: {
        "/tells": { card: card("tells"), agent: tells, tenants: ["acme"] },
        "/open": { card: card("open"), agent: tells, anonymous: "shared" },
      },
    });
    await using alice = server.client("/tells", { principal: { owner: "alice", tenant: "acme" } });
    expect((await alice.send("hi")).text).toBe("alice/acme hi");
    expect((await alice.stream("hi").answer).text).toBe("alice/acme hi");
    expect((await alice.listTasks({})).tasks).toHaveLength(2);
    await using bobby = server.client("/tells", { principal: { owner: "bobby" } });
    expect((await bobby.listTasks({})).tasks).toHaveLength(0);
    expect((await server.client("/open").send("hi")).text).toBe("anonymous/ hi");
    expect(() => server.client("/tells")).toThrow("pass `principal`");
    expect(() => server.client("/telsl", { principal: { owner: "a" } })).toThrow('did you mean "/tells"?');
    await server.agents.remove("/tells");
    await expect(alice.send("hi")).rejects.toMatchObject({
      code: "methodNotFound",
      message: "no agent at /tells: it was removed",
    });
  });
});
