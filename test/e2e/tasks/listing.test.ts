import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { artifact, completed, failed, inputRequired, type Task, TaskState, working } from "trivium";
import { expect, it } from "vitest";
import type { RequestOf } from "../../../src/protocol/operations.js";
import { errorOf, historyOf, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";
import { overEach, type ServedAgent } from "../../support/serve-agent.js";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.js";
import { wiresThat } from "../../support/wires.js";

const endings = { done: () => completed(), bad: () => failed("no"), ask: () => inputRequired("more?") } as const;

const agent = async function* ({ text }: { readonly text: string }) {
  yield artifact(text);
  yield endings[text as keyof typeof endings]?.() ?? completed();
};

/** Creates tasks one second apart. */
async function make(served: ServedAgent, clock: VirtualClock, texts: readonly string[]): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const [index, text] of texts.entries()) {
    await clock.advance(1000);
    tasks.push(taskOf(await served.client.sendMessage(say(text, { contextId: index % 2 === 0 ? "even" : "odd" }), {})));
  }
  return tasks;
}

const byText = (left: string, right: string): number => left.localeCompare(right);
const idsOf = (tasks: readonly Task[]): string[] => tasks.map(({ id }) => id);

/** Reads a list page by page. */
async function pages(served: ServedAgent, fields: Partial<RequestOf<"listTasks">>): Promise<string[][]> {
  const all: string[][] = [];
  let pageToken = "";
  do {
    const page = await served.client.listTasks(requestOf("listTasks", { ...fields, pageToken }), {});
    all.push(idsOf(page.tasks));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return all;
}

overEach(wiresThat("list tasks"), (start, wire) => {
  // Requirements: V1-LIST-8, V1-PRES-4
  it("an empty list of tasks has every member", async () => {
    await using served = await start({ agent });
    const page = await served.client.listTasks(requestOf("listTasks"), {});
    expect(page).toMatchObject({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
  });

  // Requirements: V1-HIST-1, V1-LIST-3, V1-LIST-5
  it("tasks come newest status first, without artifacts and history unless asked for", async () => {
    const clock = createVirtualClock();
    await using served = await start({ clock, agent });
    const tasks = await make(served, clock, ["done", "bad", "ask"]);
    const page = await served.client.listTasks(requestOf("listTasks"), {});
    expect(idsOf(page.tasks)).toEqual(idsOf(tasks).reverse());
    expect(page.tasks.map(stateOf)).toEqual(["INPUT_REQUIRED", "FAILED", "COMPLETED"]);
    expect(page.tasks.map(({ artifacts, history }) => artifacts.length + history.length)).toEqual([0, 0, 0]);
    expect(page).toMatchObject({ nextPageToken: "", pageSize: 50, totalSize: 3 });
    const full = await served.client.listTasks(
      requestOf("listTasks", { includeArtifacts: true, historyLength: 1 }),
      {},
    );
    expect(full.tasks.map(({ artifacts }) => textIn(artifacts[0]?.parts))).toEqual(["ask", "bad", "done"]);
    expect(full.tasks.map(historyOf)).toEqual([["user: ask"], ["user: bad"], ["user: done"]]);
  });

  // Requirements: V1-LIST-9
  it("each filter narrows the list and its count, and several narrow together", async () => {
    const clock = createVirtualClock();
    await using served = await start({ clock, agent });
    const tasks = await make(served, clock, ["done", "bad", "done", "ask"]);
    const ids = (...indexes: readonly number[]): (string | undefined)[] => indexes.map((index) => tasks[index]?.id);
    const third = timestampFromMs(timestampMs(tasks[2]?.status?.timestamp ?? timestampFromMs(0)));
    const cases: readonly (readonly [Partial<RequestOf<"listTasks">>, readonly (string | undefined)[]])[] = [
      [{ contextId: "even" }, ids(2, 0)],
      [{ contextId: "nowhere" }, []],
      [{ status: TaskState.COMPLETED }, ids(2, 0)],
      [{ status: TaskState.WORKING }, []],
      [{ statusTimestampAfter: third }, ids(3, 2)],
      [{ statusTimestampAfter: timestampFromMs(timestampMs(third) + 1) }, ids(3)],
      [{ contextId: "odd", status: TaskState.FAILED }, ids(1)],
      [{ contextId: "odd", status: TaskState.COMPLETED }, []],
    ];
    for (const [filters, wanted] of cases) {
      const page = await served.client.listTasks(requestOf("listTasks", filters), {});
      expect(idsOf(page.tasks)).toEqual(wanted);
      expect(page.totalSize).toBe(wanted.length);
    }
  });

  // Requirements: V1-LIST-2, V1-LIST-7
  it("pages of tasks add up to the whole list, each task once, whatever their size", async () => {
    const clock = createVirtualClock();
    await using served = await start({ clock, agent });
    const newestFirst = idsOf(await make(served, clock, ["done", "bad", "ask", "done", "done"])).reverse();
    for (const pageSize of [1, 2, 5, 100]) {
      const read = await pages(served, { pageSize });
      expect(read.flat()).toEqual(newestFirst);
      expect(read.map((page) => page.length)).toEqual(read.map((_, index) => Math.min(pageSize, 5 - index * pageSize)));
    }
    const page = await served.client.listTasks(requestOf("listTasks", { pageSize: 2 }), {});
    expect([page.pageSize, page.totalSize]).toEqual([2, 5]);
  });

  it("tasks with the same time are all listed, each once", async () => {
    const clock = createVirtualClock();
    await using served = await start({ clock, agent });
    const ids: string[] = [];
    for (let count = 0; count < 5; count++) ids.push(taskOf(await served.client.sendMessage(say("done"), {})).id);
    expect((await pages(served, { pageSize: 2 })).flat().toSorted(byText)).toEqual(ids.toSorted(byText));
  });

  it("a task that changes while it is paged moves to the front; the others are neither lost nor doubled", async () => {
    const clock = createVirtualClock();
    await using served = await start({ clock, agent });
    const [first, , third] = await make(served, clock, ["ask", "done", "done"]);
    const one = await served.client.listTasks(requestOf("listTasks", { pageSize: 1 }), {});
    expect(idsOf(one.tasks)).toEqual([third?.id]);
    await clock.advance(1000);
    await served.client.sendMessage(say("done", { taskId: first?.id ?? "" }), {});
    const rest = await served.client.listTasks(requestOf("listTasks", { pageToken: one.nextPageToken }), {});
    expect(rest.tasks).toHaveLength(1);
    expect(idsOf((await served.client.listTasks(requestOf("listTasks", { pageSize: 1 }), {})).tasks)).toEqual([
      first?.id,
    ]);
  });

  it("a page of tasks ends by its size, and the next one goes on behind it", async () => {
    await using served = await start({
      limits: { pageMaxBytes: 5_000 },
      async *agent() {
        yield artifact("x".repeat(2_000));
        yield completed();
      },
    });
    for (let count = 0; count < 5; count++) await served.client.sendMessage(say("go"), {});
    const lengths: number[] = [];
    const ids = new Set<string>();
    for (let pageToken = "", more = true; more; more = pageToken !== "") {
      const page = await served.client.listTasks(requestOf("listTasks", { pageToken, includeArtifacts: true }), {});
      lengths.push(page.tasks.length);
      for (const { id } of page.tasks) ids.add(id);
      pageToken = page.nextPageToken;
      expect(page.totalSize).toBe(5);
    }
    expect(lengths).toEqual([2, 2, 1]);
    expect(ids.size).toBe(5);
  });

  // Requirements: V1-LIST-2, V1-LIST-12
  it("a page token is valid only for its own filters", async () => {
    const clock = createVirtualClock();
    await using served = await start({ clock, agent });
    await make(served, clock, ["done", "done", "done"]);
    const { nextPageToken } = await served.client.listTasks(requestOf("listTasks", { pageSize: 1 }), {});
    for (const fields of [
      { pageToken: nextPageToken, contextId: "even" },
      { pageToken: nextPageToken, status: TaskState.COMPLETED },
      { pageToken: "garbage" },
      { pageToken: `${nextPageToken}x` },
      { pageToken: "é😀" },
    ]) {
      const error = await errorOf(served.client.listTasks(requestOf("listTasks", fields), {}));
      expect(error).toMatchObject({ code: "invalidParams", violations: [{ field: "pageToken" }] });
    }
  });

  // Requirements: V1-LIST-8, V1-LIST-12, V1-ERR-8
  it.each([
    ["pageSize", { pageSize: 101 }],
    ["pageSize", { pageSize: -1 }],
    ["historyLength", { historyLength: -5 }],
    ["status", { status: 99 as TaskState }],
  ])("a value out of range is refused and %s named: %o", async (field, fields) => {
    await using served = await start({ agent });
    const error = await errorOf(served.client.listTasks(requestOf("listTasks", fields), {}));
    expect(error).toMatchObject({ code: "invalidParams", violations: [{ field }] });
  });

  it("a page size of 0 is refused in JSON, and means the default in protobuf", async () => {
    await using served = await start({ agent });
    const listed = served.client.listTasks(requestOf("listTasks", { pageSize: 0 }), {});
    if (["GRPC", "CONNECT", "grpc-web"].includes(wire)) expect((await listed).pageSize).toBe(50);
    else expect(await errorOf(listed)).toMatchObject({ code: "invalidParams", violations: [{ field: "pageSize" }] });
  });

  it("a running task is listed in its current state", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await start({
      async *agent() {
        yield working();
        await gate.promise;
      },
    });
    const configuration = { returnImmediately: true };
    const { id } = taskOf(await served.client.sendMessage(say("go", { configuration }), {}));
    const page = await served.client.listTasks(requestOf("listTasks", { status: TaskState.WORKING }), {});
    expect(idsOf(page.tasks)).toEqual([id]);
    gate.resolve();
  });

  // Requirements: V1-GET-1, V1-ERR-9
  it("an unknown task is not found", async () => {
    await using served = await start({ agent });
    const error = await errorOf(served.client.getTask(requestOf("getTask", { id: "none" }), {}));
    expect(error).toMatchObject({ code: "taskNotFound", metadata: { taskId: "none" } });
  });
});
