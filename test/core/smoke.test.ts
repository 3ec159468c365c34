import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/core/agent.js";
import { systemClock } from "../../src/core/clock.js";
import { createRequestHandler, type RequestHandler } from "../../src/core/request-handler.js";
import { createContext } from "../../src/protocol/context.js";
import { artifact, completed, inputRequired, reply, working } from "../../src/protocol/events.js";
import { silentLogger } from "../../src/protocol/logger.js";
import { Role, type SendMessageRequest, TaskState } from "../../src/protocol/model.js";
import { text } from "../../src/protocol/parts.js";
import { processSignals } from "../../src/signals/in-process.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";

const ctx = (after?: string) =>
  createContext({ principal: { owner: "o" }, binding: "json-rpc", version: "1.0", extensions: [], after });
const req = (t: string, taskId = "", contextId = ""): SendMessageRequest => ({
  $typeName: "lf.a2a.v1.SendMessageRequest",
  tenant: "",
  message: {
    $typeName: "lf.a2a.v1.Message",
    messageId: "m",
    contextId,
    taskId,
    role: Role.USER,
    parts: [text(t)],
    extensions: [],
    referenceTaskIds: [],
  },
});
const make = (agent: Agent): RequestHandler =>
  createRequestHandler({
    agent,
    store: memoryTaskStore(),
    signals: processSignals,
    clock: systemClock,
    logger: silentLogger,
  });
const collect = async <T>(it: AsyncIterable<T>): Promise<T[]> => {
  const out: T[] = [];
  for await (const x of it) out.push(x);
  return out;
};

describe("core smoke", () => {
  it("replies", async () => {
    const h = make(async function* ({ text }) {
      yield reply("pong " + text);
    });
    const r = await h.operations.sendMessage(req("x"), ctx());
    expect(r.payload.case).toBe("message");
    await h.close();
  });
  it("tasks and streams", async () => {
    const h = make(async function* ({ text }) {
      yield working();
      yield artifact(text, { artifactId: "a" });
      yield artifact("more", { artifactId: "a", append: true, lastChunk: true });
    });
    const r = await h.operations.sendMessage(req("x"), ctx());
    expect(r.payload).toMatchObject({ case: "task", value: { status: { state: TaskState.COMPLETED } } });
    const items = await collect(h.operations.sendStreamingMessage(req("hello"), ctx()));
    expect(items.map((i) => i.response.payload.case)).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    const id = items[2]?.id;
    const first = items[0]?.response.payload.value as { id: string };
    const again = await collect(
      h.operations.subscribeToTask(
        { $typeName: "lf.a2a.v1.SubscribeToTaskRequest", tenant: "", id: first.id },
        ctx(id),
      ),
    );
    expect(again.map((i) => i.id)).toEqual(items.slice(3).map((i) => i.id));
    const got = await h.operations.getTask({ $typeName: "lf.a2a.v1.GetTaskRequest", tenant: "", id: first.id }, ctx());
    expect(got.artifacts[0]?.parts[0]?.content.value).toBe("hellomore");
    const l = await h.operations.listTasks(
      { $typeName: "lf.a2a.v1.ListTasksRequest", tenant: "", contextId: "", status: 0, pageToken: "" },
      ctx(),
    );
    expect(l.totalSize).toBe(2);
    await h.close();
  });
  it("asks and continues, both ways", async () => {
    const h = make(async function* ({ task, text, ask }) {
      if (text === "ask") {
        const a = await ask(inputRequired("which?"));
        yield artifact((a.parts[0]?.content.value as string) ?? "");
        return;
      }
      if (task === undefined) {
        yield inputRequired("more?");
        return;
      }
      yield completed(text);
    });
    for (const first of ["ask", "x"]) {
      const r = await h.operations.sendMessage(req(first), ctx());
      const t = r.payload.value as { id: string; status: { state: number } };
      expect(t.status.state).toBe(TaskState.INPUT_REQUIRED);
      const r2 = await h.operations.sendMessage(req("answer", t.id), ctx());
      expect(r2.payload.value).toMatchObject({ status: { state: TaskState.COMPLETED } });
      expect((r2.payload.value as { history: unknown[] }).history.length).toBe(3);
    }
    await h.close();
  });
  it("cancels", async () => {
    const h = make(async function* ({ signal }) {
      yield working();
      await new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason)));
    });
    const stream = h.operations.sendStreamingMessage(req("x"), ctx())[Symbol.asyncIterator]();
    const first = (await stream.next()).value.response.payload.value as { id: string };
    const t = await h.operations.cancelTask(
      { $typeName: "lf.a2a.v1.CancelTaskRequest", tenant: "", id: first.id },
      ctx(),
    );
    expect(t.status?.state).toBe(TaskState.CANCELED);
    await h.close();
  });
});
