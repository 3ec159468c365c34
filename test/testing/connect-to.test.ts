import { completed, createAgent, inputRequired, reply, TaskState, working } from "trivium";
import { describe, expect, it } from "vitest";
import { connectTo } from "../../src/testing/connect-to.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { errorOf, messageOf, say, textIn } from "../support/say.js";

const card = { name: "Mounted", description: "Has its own card", version: "1" };

describe("a client of an agent without a port", () => {
  it("a client of an agent without a port calls the agent, and names the interface used", async () => {
    await using client = await connectTo(async ({ text }) => reply(`heard ${text}`));
    const { parts } = messageOf(await client.sendMessage(say("this")));
    expect(textIn(parts)).toBe("heard this");
    expect(client.connection).toMatchObject({ binding: "urn:trivium:binding:in-process:v1", skipped: [] });
  });

  it("a client of an agent without a port passes secrets and headers to the agent's authenticate", async () => {
    const calls: string[] = [];
    await using client = await connectTo(async () => completed(), {
      authenticate: ({ binding, header }) => {
        calls.push(`${binding} ${header("authorization")} ${header("X-From")}`);
        return { owner: "somebody" };
      },
      client: { credentials: () => ({ headers: { authorization: "Bearer s3cret" } }), headers: { "x-from": "test" } },
    });
    await client.send("go");
    expect(calls).toEqual(["in-process Bearer s3cret test"]);
  });

  it("a client of an agent without a port stays in the process when it uses the extended card", async () => {
    await using client = await connectTo(async () => reply("pong"), {
      authenticate: () => ({ owner: "somebody" }),
      card: { ...card, extended: () => ({ name: "Extended" }) },
      client: { extendedCard: true },
    });
    expect(client.card.name).toBe("Extended");
    expect(textIn(messageOf(await client.sendMessage(say("ping"))).parts)).toBe("pong");
  });

  it("a client of an agent without a port follows a stream to its end on the test's clock", async () => {
    const clock = createTestClock();
    await using client = await connectTo(
      async function* ({ signal }) {
        yield working();
        await new Promise<void>((resolve) => {
          const cancel = clock.after(60_000, resolve);
          signal.addEventListener("abort", cancel);
        });
        yield completed("an hour later");
      },
      { clock },
    );
    const cases: string[] = [];
    for await (const { response } of client.stream("go")) {
      const { payload } = response;
      cases.push(payload.case ?? "");
      if (payload.case === "statusUpdate" && payload.value.status?.state === TaskState.WORKING) {
        void clock.advance(60_000);
      }
    }
    expect(cases).toEqual(["task", "statusUpdate", "statusUpdate"]);
  });

  it("a client of an agent without a port gives up at the time limit of a call, by that clock", async () => {
    const clock = createTestClock();
    await using client = await connectTo(() => new Promise(() => {}), { clock });
    const error = errorOf(client.sendMessage(say("go"), { timeoutMs: 1_000 }));
    await clock.advance(1_000);
    expect(await error).toMatchObject({ code: "deadlineExceeded" });
  });

  it("a client of an agent without a port closes an agent that was a function, and no other", async () => {
    let aborted = false;
    const client = await connectTo(async function* ({ signal }) {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      yield working();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const stream = client.stream("go")[Symbol.asyncIterator]();
    await stream.next();
    await stream.next();
    await client.close();
    expect(aborted).toBe(true);

    await using agent = await createAgent({ card, agent: async () => inputRequired("more?") });
    const first = await connectTo(agent);
    expect(first.card.name).toBe("Mounted");
    await first.close();
    await using second = await connectTo(agent);
    expect(await second.send("go")).toMatchObject({ state: "input-required" });
  });
});
