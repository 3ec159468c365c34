import { A2AError, artifact, type Message, reply, working } from "trivium";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ErrorCode, errorCodes, formatErrorMessage } from "../../../src/protocol/errors.js";
import { errorOf, messageOf, openStream, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { overEach, overEveryWire, type ServedAgent } from "../../support/serve-agent.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { errorOverWire, wireRow, wiresThat } from "../../support/wires.js";

// The outcome of a send when the agent is slow or refuses.

overEveryWire((start) => {
  it("a push configuration in the send makes a task at once, even for a reply", async () => {
    await using served = await start({ agent: async () => reply("yes"), push: { allow: "loopback" } });
    const taskPushNotificationConfig = { id: "hook", url: "http://127.0.0.1:9/hook", token: "t" };
    const request = say("go", { configuration: { taskPushNotificationConfig } });
    const task = taskOf(await served.client.sendMessage(request, {}));
    expect(stateOf(task)).toBe("COMPLETED");
    expect(textIn(task.status?.message?.parts)).toBe("yes");
    const get = requestOf("getTaskPushNotificationConfig", { taskId: task.id, id: "hook" });
    const config = await served.client.getTaskPushNotificationConfig(get, {});
    expect(config).toMatchObject({ taskId: task.id, url: "http://127.0.0.1:9/hook" });
  });

  it("an error after an event fails the task, with its public message", async () => {
    await using served = await start({
      async *agent() {
        yield working();
        throw new A2AError("invalidParams", "the figures do not add up");
      },
    });
    const task = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(stateOf(task)).toBe("FAILED");
    expect(textIn(task.status?.message?.parts)).toBe("the figures do not add up");
  });

  // Requirements: V1-ERR-13
  it.each([
    ["throws", () => Promise.reject(new Error("secret 7f3a"))],
    [
      "throws before it is asynchronous",
      () => {
        throw new TypeError("secret 7f3a");
      },
    ],
    ["throws what is no error", () => Promise.reject("secret 7f3a")],
    [
      "throws after an event",
      async function* () {
        yield artifact("half");
        throw new Error("secret 7f3a");
      },
    ],
  ])("an agent that %s fails its task with a reference, and the cause is only in the log", async (_, agent) => {
    await using served = await start({ agent });
    const task = taskOf(await served.client.sendMessage(say("go"), {}));
    expect(stateOf(task)).toBe("FAILED");
    const shown = textIn(task.status?.message?.parts);
    expect(JSON.stringify(task, (_key, value) => (typeof value === "bigint" ? String(value) : value))).not.toContain(
      "secret",
    );
    const [line, ...others] = served.log.filter(({ level }) => level === "error");
    expect(others).toEqual([]);
    const { err, reference } = (line?.fields ?? {}) as { readonly err: unknown; readonly reference: string };
    expect(String(err)).toContain("secret 7f3a");
    expect(shown).toContain(reference);
  });
});

overEach(wiresThat("begin streams with the task"), (start) => {
  it("an agent silent for a second gets its task, which a later reply completes", async () => {
    const clock = createVirtualClock();
    const started = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Message>();
    await using served = await start({
      clock,
      agent: () => {
        started.resolve();
        return answer.promise;
      },
    });
    const opening = openStream(served.client.sendStreamingMessage(say("go"), {}));
    await started.promise;
    await clock.advance(1000);
    const stream = await opening;
    expect(stateOf(taskOf(stream.firstItem.response))).toBe("SUBMITTED");
    answer.resolve(reply("at last"));
    expect(await stream.readRest()).toEqual(["status COMPLETED"]);
    const { id } = taskOf(stream.firstItem.response);
    const task = await served.client.getTask(requestOf("getTask", { id }), {});
    expect(textIn(task.status?.message?.parts)).toBe("at last");
    expect(task.artifacts).toEqual([]);
  });
});

overEach(wiresThat("tell the agent's answer"), (start) => {
  it("an agent that replies within the second answers with a message", async () => {
    const clock = createVirtualClock();
    const started = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<Message>();
    await using served = await start({
      clock,
      agent: () => {
        started.resolve();
        return answer.promise;
      },
    });
    const result = served.client.sendMessage(say("go"), {});
    await started.promise;
    await clock.advance(999);
    answer.resolve(reply("in time"));
    expect(textIn(messageOf(await result).parts)).toBe("in time");
  });
});

overEach(wiresThat("tell the agent's answer"), (start) => {
  let served: ServedAgent;
  let thrown: ErrorCode;
  beforeAll(async () => {
    served = await start({
      agent: async () => {
        throw new A2AError(thrown, "just so", { metadata: { a: "b" } });
      },
    });
  });
  afterAll(() => served[Symbol.asyncDispose]());

  // Requirements: V1-ERR-1, V1-ERR-14, V1-ERR-17, V1-ERR-19, V1-EQ-3, V03-TRANS-3, V03-GRPC-3
  it.each(errorCodes)(
    "the error %s thrown before the first event is the answer, and nothing is stored",
    async (code) => {
      thrown = code;
      // JSON-RPC has one error for unaccepted content and for an unreadable body.
      const isNamed = code === "unsupportedMediaType" && wireRow(served.wire).binding === "JSONRPC";
      const publicCode = isNamed ? "contentTypeNotSupported" : code;
      for (const call of [
        served.client.sendMessage(say("go"), {}),
        served.client.sendStreamingMessage(say("go"), {}),
      ]) {
        expect(await errorOf(call)).toMatchObject(
          errorOverWire(served.wire, {
            code: publicCode,
            message: formatErrorMessage(publicCode, "just so"),
            metadata: { a: "b" },
          }),
        );
      }
      expect((await served.clientOver("in-process").listTasks(requestOf("listTasks"), {})).totalSize).toBe(0);
    },
  );
});
