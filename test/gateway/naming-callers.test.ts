import { afterEach, describe, expect, it } from "vitest";
import { type VersionName, versionTable } from "../../src/version/versions.js";
import { postJson } from "../support/http-agent.js";
import { requestOf, say, stateOf, taskOf } from "../support/say.js";
import { type Scene, startScene } from "./scene.js";

// Callers of 0.1 choose the ids of their tasks.

const versions = versionTable.map(({ name }) => name);

let scene: Scene | undefined;
afterEach(() => scene?.[Symbol.asyncDispose]());

async function inFrontOf(version: VersionName): Promise<Scene> {
  scene = await startScene({ behind: { bindings: ["JSONRPC"], versions: [version] } });
  // The two oldest versions look alike until the first message.
  await call(scene, "tasks/send", { id: "first", message: messageOf("echo first") });
  return scene;
}

interface OldTask {
  readonly id: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
}

interface OldAnswer {
  readonly result?: OldTask;
  readonly error?: { readonly code: number; readonly message: string };
}

async function call({ gateway }: Scene, method: string, params: object): Promise<OldAnswer> {
  const { text } = await postJson(`${gateway.url}/json-rpc`, { jsonrpc: "2.0", id: 1, method, params });
  return JSON.parse(text) as OldAnswer;
}

const messageOf = (text: string): object => ({ role: "user", parts: [{ type: "text", text }] });

describe.each(versions)("a caller that names its tasks, in front of an agent in version %s", (behind) => {
  it("a caller that names its tasks finds its task by its name behind a gateway, in every later call", async () => {
    const at = await inFrontOf(behind);
    const question = await call(at, "tasks/send", { id: "my-task", message: messageOf("ask berth") });
    expect(question.result).toMatchObject({ id: "my-task", status: { state: "input-required" } });
    const answered = await call(at, "tasks/send", { id: "my-task", message: messageOf("north") });
    expect(answered.result).toMatchObject({ id: "my-task", status: { state: "completed" } });
    expect(answered.result?.artifacts?.[0]?.parts[0]?.text).toBe("berth north");
    const read = await call(at, "tasks/get", { id: "my-task" });
    expect(read.result).toMatchObject({ id: "my-task", status: { state: "completed" } });
    expect((await call(at, "tasks/get", { id: "another" })).error?.code).toBe(-32001);
  });

  it("a caller that names its tasks finds the task of its very first message", async () => {
    const at = await inFrontOf(behind);
    const read = await call(at, "tasks/get", { id: "first" });
    expect(read.result).toMatchObject({ id: "first", status: { state: "completed" } });
    const refused = await call(at, "tasks/send", { id: "first", message: messageOf("more") });
    expect(refused.error).toBeDefined();
  });

  it("a caller that names its tasks cancels the awaited task by its name", async () => {
    const at = await inFrontOf(behind);
    const waiting = call(at, "tasks/send", { id: "slow", message: messageOf("wait") });
    await expect.poll(async () => (await call(at, "tasks/get", { id: "slow" })).result?.status.state).toBe("working");
    const canceled = await call(at, "tasks/cancel", { id: "slow" });
    expect(canceled.result).toMatchObject({ id: "slow", status: { state: "canceled" } });
    expect((await waiting).result).toMatchObject({ id: "slow", status: { state: "canceled" } });
  });

  it("a caller that names its tasks makes one task for two concurrent sends under one new name", async () => {
    const at = await inFrontOf(behind);
    const [one, other] = await Promise.all([
      call(at, "tasks/send", { id: "twice", message: messageOf("ask berth") }),
      call(at, "tasks/send", { id: "twice", message: messageOf("north") }),
    ]);
    const states = [one.result?.status.state, other.result?.status.state];
    expect(states).toContain("completed");
    const read = await call(at, "tasks/get", { id: "twice" });
    expect(read.result).toMatchObject({ id: "twice", status: { state: "completed" } });
    expect(read.result?.artifacts).toHaveLength(1);
  });

  it("a caller that names its tasks continues a task of other callers by the agent's id", async () => {
    const at = await inFrontOf(behind);
    const { operations } = await at.over("GRPC");
    const task = taskOf(await operations.sendMessage(say("ask berth"), {}));
    expect(stateOf(task)).toBe("INPUT_REQUIRED");
    const answered = await call(at, "tasks/send", { id: task.id, message: messageOf("south") });
    expect(answered.result).toMatchObject({ id: task.id, status: { state: "completed" } });
    const read = await operations.getTask(requestOf("getTask", { id: task.id }), {});
    expect(stateOf(read)).toBe("COMPLETED");
  });
});
