import { type Agent, type Authenticate, artifact, completed, inputRequired, type RateOptions, working } from "trivium";
import { expect, it } from "vitest";
import type { CallOptions } from "../../../src/protocol/context.js";
import type { Operations } from "../../../src/protocol/operations.js";
import { itemsOf } from "../../support/items.js";
import { errorOf, requestOf, say, taskOf } from "../../support/say.js";
import { overEach, overEveryWire, type StartAgent, type Wire, wires } from "../../support/serve-agent.js";
import { errorOverWire, wiresThat } from "../../support/wires.js";

// Windows are days, so that none ends during a test.

const authenticate: Authenticate = ({ header }) => ({
  owner: header("x-owner") ?? "alice",
  tenant: header("x-tenant") ?? "",
});

const from = (name: "owner" | "tenant", value: string): CallOptions => ({ headers: { [`x-${name}`]: value } });
const fromAddress = (address: string): CallOptions => ({ headers: { "x-forwarded-for": address } });

const finished: Agent = async () => completed("done");

function limited(start: StartAgent, rate: RateOptions, agent: Agent = finished, more: object = {}) {
  return start({ agent, authenticate, rate, trustProxy: ["127.0.0.1"], ...more });
}

function refusal(wire: Wire, limit: string): object {
  return errorOverWire(wire, {
    code: "resourceExhausted",
    metadata: { limit },
    message: expect.stringContaining(`(${limit})`),
  });
}

const send = (client: Operations<CallOptions>, options: CallOptions = {}, text = "go") =>
  client.sendMessage(say(text), options);

overEveryWire((start, wire) => {
  it("requests are limited for each owner, and the refusal says when to come back", async () => {
    await using served = await limited(start, { owner: { requests: "2/day" } });
    await send(served.client);
    await send(served.client);
    const error = await errorOf(send(served.client));
    expect(error).toMatchObject(refusal(wire, "rate.owner.requests"));
    if (wiresThat("tell details of errors").includes(wire)) expect(error.retryAfterMs).toBeGreaterThan(1000);
    await send(served.client, from("owner", "bob"));
  });

  it("requests are limited for each tenant, for all callers, for an operation and for a skill", async () => {
    const skills = [{ id: "book", name: "Book", description: "Books", tags: ["book"] }];
    const card = { name: "Tested", description: "Does what the test says", version: "1.0.0", skills };
    const all = { requests: "9/day" } as const;
    await using served = await limited(
      start,
      {
        all,
        tenant: { requests: ["1000/second", "3/day"] },
        operations: { getTask: { owner: { requests: "1/day" } } },
        skills: { book: { owner: { requests: "1/day" } } },
      },
      finished,
      { card },
    );
    const { client } = served;
    const { id } = taskOf(await send(client));
    await client.getTask(requestOf("getTask", { id }), {});
    expect(await errorOf(client.getTask(requestOf("getTask", { id }), {}))).toMatchObject(
      refusal(wire, "rate.operations.getTask.owner.requests"),
    );
    await send(client);
    expect(await errorOf(send(client, from("owner", "bob")))).toMatchObject(refusal(wire, "rate.tenant.requests[1]"));
    const red = from("tenant", "red");
    const book = () => {
      const request = say("go");
      if (request.message !== undefined) request.message.metadata = { skillId: "book" };
      return client.sendMessage(request, red);
    };
    await book();
    expect(await errorOf(book())).toMatchObject(refusal(wire, "rate.skills.book.owner.requests"));
    await send(client, from("tenant", "green"));
    await send(client, from("tenant", "green"));
    await send(client, from("tenant", "blue"));
    await send(client, from("tenant", "blue"));
    await send(client, from("tenant", "blue"));
    expect(await errorOf(send(client, from("tenant", "white")))).toMatchObject(refusal(wire, "rate.all.requests"));
  });

  it("new tasks are limited, messages to a task are not, and streams count like answers", async () => {
    await using served = await limited(start, { owner: { tasks: "2/day" } }, async () => inputRequired("which one?"));
    const { id: taskId } = taskOf(await send(served.client));
    await itemsOf(served.client.sendStreamingMessage(say("go"), {}));
    expect(await errorOf(send(served.client))).toMatchObject(refusal(wire, "rate.owner.tasks"));
    const stream = served.client.sendStreamingMessage(say("go"), {});
    expect(await errorOf(itemsOf(stream))).toMatchObject(refusal(wire, "rate.owner.tasks"));
    await served.client.sendMessage(say("this", { taskId }), {});
    await send(served.client, from("owner", "bob"));
  });

  it("bytes are limited: the request that reaches the limit is served, the next is not", async () => {
    await using served = await limited(start, { owner: { bytes: "2000/day" } });
    await send(served.client);
    await send(served.client, {}, "x".repeat(3000));
    expect(await errorOf(send(served.client))).toMatchObject(refusal(wire, "rate.owner.bytes"));
    await send(served.client, from("owner", "bob"));
  });

  it("a turn goes on when its agent has charged the whole budget, and the next task is refused", async () => {
    const left: number[] = [];
    await using served = await limited(start, { owner: { tokens: "1000/day" } }, async function* ({ charge, text }) {
      left.push((await charge({ tokens: text === "much" ? 1500 : 400 })).left);
      yield artifact(`used by ${text}`);
      yield inputRequired("more?");
    });
    const { id: taskId } = taskOf(await send(served.client, {}, "little"));
    const { artifacts } = taskOf(await send(served.client, {}, "much"));
    expect(artifacts).toHaveLength(1);
    expect(left).toEqual([600, 0]);
    expect(await errorOf(send(served.client))).toMatchObject(refusal(wire, "rate.owner.tokens"));
    await served.client.sendMessage(say("little", { taskId }), {});
    await send(served.client, from("owner", "bob"), "little");
  });

  it("turns at once are limited for as long as they run", async () => {
    const held = Promise.withResolvers<void>();
    const turnStart = Promise.withResolvers<void>();
    await using served = await limited(
      start,
      { owner: { turns: 1 } },
      async () => {
        turnStart.resolve();
        await held.promise;
        return completed();
      },
      { limits: { turnWaitMs: 0 } },
    );
    const first = send(served.client);
    await turnStart.promise;
    expect(await errorOf(send(served.client))).toMatchObject(refusal(wire, "rate.owner.turns"));
    held.resolve();
    await first;
    await send(served.client, from("owner", "bob"));
    await expect
      .poll(() =>
        send(served.client).then(
          () => "taken",
          () => "refused",
        ),
      )
      .toBe("taken");
  });

  it("streams at once are limited for as long as they are open", async () => {
    const held = Promise.withResolvers<void>();
    await using served = await limited(start, { owner: { streams: 1 } }, async function* () {
      yield working();
      await held.promise;
      yield completed();
    });
    const first = served.client.sendStreamingMessage(say("go"), {})[Symbol.asyncIterator]();
    await first.next();
    const second = served.client.sendStreamingMessage(say("go"), {});
    expect(await errorOf(itemsOf(second))).toMatchObject(refusal(wire, "rate.owner.streams"));
    held.resolve();
    while ((await first.next()).done !== true);
    const again = () => itemsOf(served.client.sendStreamingMessage(say("go"), {}));
    await expect
      .poll(() =>
        again().then(
          () => "taken",
          () => "refused",
        ),
      )
      .toBe("taken");
  });
});

overEach(
  wires.filter((wire) => wire !== "in-process"),
  (start, wire) => {
    it("requests are limited for each address that a trusted proxy reports, before the caller is authenticated", async () => {
      const addresses: string[] = [];
      await using served = await start({
        agent: finished,
        authenticate: ({ header }) => {
          addresses.push(header("x-forwarded-for") ?? "");
          return { owner: "alice" };
        },
        rate: { address: { requests: "2/day" } },
        trustProxy: ["127.0.0.1"],
      });
      await send(served.client, fromAddress("192.0.2.1"));
      // What the caller itself has written comes first.
      await send(served.client, fromAddress("203.0.113.9, 192.0.2.1"));
      expect(await errorOf(send(served.client, fromAddress("192.0.2.1")))).toMatchObject(
        refusal(wire, "rate.address.requests"),
      );
      expect(addresses).toHaveLength(2);
      await send(served.client, fromAddress("2001:db8::1"));
      await send(served.client, fromAddress("2001:db8::ffff"));
      expect(await errorOf(send(served.client, fromAddress("2001:db8:0:0:9::1")))).toMatchObject(
        refusal(wire, "rate.address.requests"),
      );
      await send(served.client, fromAddress("2001:db8:0:1::1"));
    });

    it("failed attempts to authenticate are limited by address, whose known callers are let through", async () => {
      await using served = await start({
        agent: finished,
        authenticate: ({ header }) => {
          const owner = header("x-owner") ?? "";
          if (owner.startsWith("wrong")) throw new Error("not known");
          return { owner };
        },
        rate: { failedAttempts: "2/day" },
        trustProxy: ["127.0.0.1"],
      });
      const as = (owner: string, address = "192.0.2.1") =>
        send(served.client, { headers: { "x-owner": owner, "x-forwarded-for": address } });
      expect(await errorOf(as("wrong 1"))).toMatchObject({ code: "unauthenticated" });
      await as("alice");
      expect(await errorOf(as("wrong 2"))).toMatchObject({ code: "unauthenticated" });
      const refused = refusal(wire, "rate.failedAttempts");
      expect(await errorOf(as("wrong 3"))).toMatchObject(refused);
      expect(await errorOf(as("bob"))).toMatchObject(refused);
      await as("alice");
      await as("bob", "192.0.2.2");
    });
  },
);
