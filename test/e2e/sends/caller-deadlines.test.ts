import { artifact, Client, inputRequired, park, serve, type Turn, type TurnAborted, working } from "trivium";
import { expect, it, vi } from "vitest";
import { withTimeout } from "../../../src/binding/deadline.js";
import { postJson } from "../../support/http-agent.js";
import { errorOf, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { overEach, startAgent } from "../../support/serve-agent.js";

// A caller that waits says how long, and its deadline reaches the turn: over every binding from our client, and from any
// other one that sends the header of gRPC or of Connect. It ends the caller's wait, and with `deadlines: "abort"` the turn.

/** An agent that does the work of a turn, or asks; the deadlines that it saw, by the text of the message; and its first abort. */
function watched(work: (turn: Turn) => Promise<unknown>) {
  const aborted = Promise.withResolvers<string>();
  const deadlines = new Map<string, number | undefined>();
  return {
    aborted: aborted.promise,
    deadlines,
    agent: async function* (turn: Turn) {
      const { text, signal, deadline } = turn;
      deadlines.set(text, deadline);
      signal.addEventListener("abort", () => aborted.resolve((signal.reason as TurnAborted).kind));
      if (text === "ask") {
        yield inputRequired("more?");
        return;
      }
      yield working();
      await work(turn);
      yield artifact("done");
    },
  };
}

/** An agent that works until it is aborted. */
const patient = () =>
  watched(({ text, signal }) =>
    text === "short"
      ? new Promise((resolve) => setTimeout(resolve, 1_300))
      : new Promise((resolve) => signal.addEventListener("abort", resolve)),
  );

/** An agent that works until it is told to finish, whatever its callers do. A turn that was aborted fails. */
function enduring() {
  const finish = Promise.withResolvers<void>();
  const agent = watched(async ({ signal }) => {
    await finish.promise;
    signal.throwIfAborted();
  });
  return { ...agent, finish: finish.resolve };
}

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

/** Expects that the tasks on which the agent still works complete once it finishes. */
async function completesAfter(
  { server }: { readonly server: { inProcess(): Pick<Awaited<ReturnType<typeof startAgent>>["client"], "listTasks"> } },
  { finish, deadlines }: Pick<ReturnType<typeof enduring>, "finish" | "deadlines">,
  { poll }: Pick<typeof expect, "poll">,
): Promise<void> {
  const states = async (): Promise<string[]> => {
    const { tasks } = await server.inProcess().listTasks(requestOf("listTasks"), {});
    return tasks.map(stateOf).filter((state) => state !== "INPUT_REQUIRED");
  };
  await poll(async () => new Set(await states())).toEqual(new Set(["WORKING"]));
  // What the server does at the deadline is done by then.
  const latest = Math.max(...[...deadlines.values()].map((each) => each ?? 0));
  await poll(() => Date.now()).toBeGreaterThan(latest);
  finish();
  await poll(async () => new Set(await states())).toEqual(new Set(["COMPLETED"]));
}

const timeoutMs = 700;

/**
 * Sends a message with a time limit that reaches the agent, and returns the agent's deadline. Where a busy process takes half of
 * the limit until it reads a call, the caller leaves so long before the deadline that it is taken to leave by itself: then
 * another message is sent.
 */
async function sendInTime(
  { deadlines }: Pick<ReturnType<typeof patient>, "deadlines">,
  send: (text: string) => Promise<void>,
): Promise<number> {
  let inboxCount = 0;
  for (let count = 1; ; count++) {
    const text = `wait ${count}`;
    const latest = Date.now() + timeoutMs * 1.5;
    await send(text);
    const deadline = deadlines.get(text);
    if (deadline !== undefined && deadline < latest) return deadline;
    // It was not read yet, or too late. Or it came through another process while the turn before was ending: that turn takes
    // it from the inbox, which stores no deadlines. That is rare, so it does not happen three times.
    if (deadlines.has(text) && deadline === undefined) inboxCount += 1;
    expect(inboxCount).toBeLessThan(3);
  }
}

overEach(
  ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT", "in-process", "JSONRPC 0.3"],
  (start) => {
    it("a caller's deadline ends its wait alone: the task goes on, and completes", async ({ expect }) => {
      const { agent, finish, deadlines } = enduring();
      await using served = await start({ agent });
      const before = Date.now();
      const deadline = await sendInTime({ deadlines }, async (text) => {
        const error = await errorOf(served.client.sendMessage(say(text), withTimeout({ timeoutMs })));
        expect(error.code).toBe("deadlineExceeded");
      });
      expect(deadline).toBeGreaterThan(before);
      await completesAfter(served, { finish, deadlines }, expect);
    });

    it("a deadline ends the wait of a stream alone: the task goes on, and completes", async ({ expect }) => {
      const { agent, finish, deadlines } = enduring();
      await using served = await start({ agent });
      await sendInTime({ deadlines }, async (text) => {
        const error = await errorOf(drain(served.client.sendStreamingMessage(say(text), withTimeout({ timeoutMs }))));
        expect(error.code).toBe("deadlineExceeded");
      });
      await completesAfter(served, { finish, deadlines }, expect);
    });

    it("a deadline ends the wait of a message to a task alone: the task goes on, and completes", async ({ expect }) => {
      const { agent, finish, deadlines } = enduring();
      await using served = await start({ agent });
      await sendInTime({ deadlines }, async (text) => {
        const { id } = taskOf(await served.client.sendMessage(say("ask"), {}));
        const error = await errorOf(served.client.sendMessage(say(text, { taskId: id }), withTimeout({ timeoutMs })));
        expect(error.code).toBe("deadlineExceeded");
      });
      await completesAfter(served, { finish, deadlines }, expect);
    });

    it('under deadlines: "abort" a stream that is read at its deadline takes its turn along', async ({ expect }) => {
      const { agent, aborted, deadlines } = patient();
      await using served = await start({ agent, deadlines: "abort" });
      await sendInTime({ deadlines }, async (text) => {
        const error = await errorOf(drain(served.client.sendStreamingMessage(say(text), withTimeout({ timeoutMs }))));
        expect(error.code).toBe("deadlineExceeded");
      });
      expect(await aborted).toBe("DeadlineExceeded");
    });

    it('under deadlines: "abort" the deadline of a send that waits ends its turn, and the task fails', async ({
      expect,
    }) => {
      const { agent, aborted, deadlines } = patient();
      await using served = await start({ agent, deadlines: "abort" });
      const before = Date.now();
      const deadline = await sendInTime({ deadlines }, async (text) => {
        // As the client for Node sends it.
        const error = await errorOf(served.client.sendMessage(say(text), withTimeout({ timeoutMs })));
        expect(error.code).toBe("deadlineExceeded");
      });
      expect(await aborted).toBe("DeadlineExceeded");
      expect(deadline).toBeGreaterThan(before);
      expect(deadline).toBeLessThanOrEqual(Date.now() + timeoutMs);
      const latest = async () => (await served.server.inProcess().listTasks(requestOf("listTasks"), {})).tasks[0];
      await expect.poll(async () => stateOf(await latest())).toBe("FAILED");
    });

    it("without a time limit there is no deadline", async () => {
      const { agent, deadlines } = patient();
      await using served = await start({ agent });
      expect(stateOf(taskOf(await served.client.sendMessage(say("ask"), {})))).toBe("INPUT_REQUIRED");
      expect([...deadlines.values()]).toEqual([undefined]);
    });
  },
  { concurrent: true },
);

it.concurrent("a call that does not wait, or that was answered, leaves its turn working", async ({ expect }) => {
  const { agent } = patient();
  await using served = await startAgent("JSONRPC", { agent, deadlines: "abort" });
  const { client } = served;
  const immediately = say("short", { configuration: { returnImmediately: true } });
  // A second, which a busy process may take for the answer alone: the turn takes longer.
  const inTime = { timeout: 60_000, interval: 0 };
  const limit = { timeoutMs: 1_000 };
  const { id } = await vi.waitFor(
    async () => taskOf(await client.sendMessage(immediately, withTimeout(limit))),
    inTime,
  );
  await expect.poll(async () => stateOf(await client.getTask(requestOf("getTask", { id }), {}))).toBe("COMPLETED");
  const started = await vi.waitFor(async () => {
    const stream = client.sendStreamingMessage(say("short"), withTimeout(limit))[Symbol.asyncIterator]();
    const { value: first } = await stream.next();
    await stream.return?.();
    const payload = first?.response.payload;
    if (payload?.case !== "task") throw new Error("the stream does not begin with its task");
    return payload;
  }, inTime);
  await expect
    .poll(async () => stateOf(await client.getTask(requestOf("getTask", { id: started.value.id }), {})))
    .toBe("COMPLETED");
});

it.concurrent("a stream ends with the error when the time of its caller is over", async () => {
  const { agent } = patient();
  await using served = await startAgent("JSONRPC", { agent });
  const headers = { "grpc-timeout": "300m" };
  const stream = served.client.sendStreamingMessage(say("wait"), { headers });
  const read = async (): Promise<void> => {
    for await (const _ of stream);
  };
  await expect(read()).rejects.toMatchObject({ code: "deadlineExceeded" });
});

it.concurrent.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
  "the client for Node sends its time limits on, over %s",
  async (binding) => {
    const { agent, aborted, deadlines } = patient();
    await using served = await startAgent("JSONRPC", { agent, deadlines: "abort" });
    const client = await Client.connect(served.server.url, { prefer: [binding], grpcTls: false });
    await sendInTime({ deadlines }, (text) =>
      expect(client.send(text, { timeoutMs })).rejects.toMatchObject({ code: "deadlineExceeded" }),
    );
    expect(await aborted).toBe("DeadlineExceeded");
    await client.close();
  },
);

it.concurrent.for([
  { "grpc-timeout": "300m" },
  { "grpc-timeout": "300000u" },
  { "connect-timeout-ms": "300" },
] as Record<string, string>[])(
  "a bare HTTP request with %o is answered when its time is over",
  async (headers, { expect }) => {
    const { agent, aborted } = patient();
    await using served = await startAgent("JSONRPC", { agent, deadlines: "abort" });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "wait" }] };
    const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    const reply = await postJson(`${served.server.url}/json-rpc`, body, { "a2a-version": "1.0", ...headers });
    expect(JSON.parse(reply.text).error.message).toMatch(/^no answer within \d+/);
    expect(await aborted).toBe("DeadlineExceeded");
    const reasonGiven = async (): Promise<string> => {
      const { tasks } = await served.client.listTasks(requestOf("listTasks"), {});
      return textIn(tasks[0]?.status?.message?.parts);
    };
    await expect.poll(reasonGiven).toContain("turn deadline exceeded");
  },
);

it.concurrent.for([{ "grpc-timeout": "300m" }, { "connect-timeout-ms": "300" }] as Record<string, string>[])(
  "a bare HTTP request with %o leaves its task working when its time is over",
  async (headers, { expect }) => {
    const { agent, finish, deadlines } = enduring();
    await using served = await startAgent("HTTP+JSON", { agent });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "wait" }] };
    const body = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
    const reply = await postJson(`${served.server.url}/json-rpc`, body, { "a2a-version": "1.0", ...headers });
    expect(JSON.parse(reply.text).error.message).toMatch(/^no answer within \d+/);
    await completesAfter(served, { finish, deadlines }, expect);
  },
);

it.concurrent.for([
  { deadlines: "wait", passed: false },
  { deadlines: "abort", passed: true },
] as const)(
  "under deadlines: $deadlines a turn's call to another agent has the caller's deadline: $passed",
  async ({ deadlines, passed }, { expect }) => {
    const seen: (number | undefined)[] = [];
    const card = (name: string) => ({ name, description: "A test", version: "1.0.0" });
    await using server = await serve({
      port: 0,
      drainMs: 0,
      logger: false,
      agents: {
        "/asks": {
          card: card("asks"),
          deadlines,
          agent: async function* ({ client, deadline }: Turn) {
            seen.push(deadline);
            yield artifact((await client("/tells").send("go")).text);
          },
        },
        "/tells": {
          card: card("tells"),
          agent: async function* ({ deadline }: Turn) {
            seen.push(deadline);
            yield artifact("told");
          },
        },
      },
    });
    await using client = await Client.connect(`${server.url}/asks`);
    expect((await client.send("go", { timeoutMs: 3_600_000 })).text).toBe("told");
    expect(seen.map((each) => each !== undefined)).toEqual([true, passed]);
  },
);

it.concurrent("a turn that outlives its caller goes on calling other agents", async ({ expect }) => {
  const isLate = Promise.withResolvers<void>();
  const card = (name: string) => ({ name, description: "A test", version: "1.0.0" });
  await using server = await serve({
    port: 0,
    drainMs: 0,
    logger: false,
    agents: {
      "/asks": {
        card: card("asks"),
        agent: async function* ({ client }: Turn) {
          yield working();
          await isLate.promise;
          yield artifact((await client("/tells").send("go")).text);
        },
      },
      "/tells": {
        card: card("tells"),
        agent: async function* () {
          yield artifact("told");
        },
      },
    },
  });
  await using client = await Client.connect(`${server.url}/asks`);
  const message = say("go").message;
  await expect(client.sendMessage({ message }, { timeoutMs: 1_000 })).rejects.toMatchObject({
    code: "deadlineExceeded",
  });
  isLate.resolve();
  const found = await client.listTasks({});
  expect((await client.wait(found.tasks[0]?.id ?? "")).text).toBe("told");
});

it.concurrent("a turn that was woken has no deadline of the call before it", async ({ expect }) => {
  const woken = Promise.withResolvers<void>();
  const seen: [string, boolean][] = [];
  await using server = await serve({
    card: { name: "Parks", description: "A test", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    logger: false,
    deadlines: "abort",
    agent: async function* ({ cause, deadline }: Turn) {
      seen.push([cause, deadline !== undefined]);
      if (cause === "wake") {
        yield artifact("done");
        return;
      }
      yield working();
      await woken.promise;
      return park({});
    },
  });
  const client = server.inProcess();
  const answer = client.sendMessage(say("wait"), { timeoutMs: 3_600_000 });
  const running = async () => (await client.listTasks(requestOf("listTasks"), {})).tasks[0]?.id;
  await expect.poll(running).toBeDefined();
  // The wake waits in the inbox until the turn has ended.
  await server.tasks.wake((await running()) ?? "", null);
  woken.resolve();
  expect(stateOf(taskOf(await answer))).toBe("COMPLETED");
  expect(seen).toEqual([
    ["message", true],
    ["wake", false],
  ]);
});
