import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { findOperation, type OperationName } from "../../../src/protocol/operations.js";
import type { NameKind } from "./names.js";
import { type Outcome, victim, type Who, type World } from "./world.js";

/** The names of a caller's things, by kind. */
export type Names = { readonly [kind in NameKind]: readonly string[] };

export const hook = "http://127.0.0.1:9/hook";

/** A message that says how its turn goes on, and who sent it. */
export function message(who: Who, kind: string, messageId: string, more: JsonObject = {}): JsonObject {
  return { messageId, role: "ROLE_USER", parts: [{ text: `${kind} ${who.mark}` }], ...more };
}

/** A call of version 1.0 that has to succeed. */
async function done(world: World, who: Who, name: OperationName, request: JsonObject): Promise<Outcome> {
  const outcome = await world.call(who, { operation: findOperation(name), request, over: "JSONRPC" });
  if (outcome.error !== undefined) throw outcome.error;
  return outcome;
}

function textAt(value: JsonValue | undefined, ...way: readonly (string | number)[]): string {
  let at: unknown = value;
  for (const step of way) at = Reflect.get(Object(at), step);
  if (typeof at !== "string") throw new TypeError(`nothing at ${way.join(".")} of ${JSON.stringify(value)}`);
  return at;
}

/** Gives the victim something of every kind, and returns the names of it all. */
export async function settleVictim(world: World): Promise<Names> {
  const contextId = "the-harbour";
  const call = (name: OperationName, request: JsonObject) => done(world, victim, name, request);
  const send = (kind: string, more: JsonObject = {}) =>
    call("sendMessage", { message: message(victim, kind, `message-${kind}`, more) });
  const finished = (await send("done", { contextId })).replies[0];
  const asking = textAt((await send("ask")).replies[0], "task", "id");
  await send("reply", { contextId });
  const now = { returnImmediately: true };
  const running = await call("sendMessage", { message: message(victim, "run", "message-run"), configuration: now });
  // 0.1 has names that callers choose.
  await world.call(victim, {
    operation: findOperation("sendMessage"),
    request: { message: message(victim, "ask", "message-named", { taskId: "berth-7", contextId: "the-pier" }) },
    over: "JSONRPC 0.1",
  });
  for (const id of ["hook", "other"])
    await call("createTaskPushNotificationConfig", { taskId: asking, id, url: hook, token: "the-token" });
  const { eventIds } = await call("subscribeToTask", { id: asking });
  const tasks = await call("listTasks", { pageSize: 1 });
  const configs = await call("listTaskPushNotificationConfigs", { taskId: asking, pageSize: 1 });
  return {
    task: [asking, textAt(running.replies[0], "task", "id"), textAt(finished, "task", "id"), "berth-7"],
    context: [contextId, "the-pier", textAt(running.replies[0], "task", "contextId")],
    message: ["message-done", "message-reply", "message-run", "message-named"],
    config: ["hook", "other"],
    tasksPage: [textAt(tasks.replies[0], "nextPageToken")],
    configsPage: [textAt(configs.replies[0], "nextPageToken")],
    event: eventIds.length === 0 ? ["none"] : eventIds,
    tenant: ["north", "south"],
  };
}

/** What the victim sees of its things. */
export async function victimsView(world: World, { task: [asking = "", ...others] }: Names): Promise<string> {
  const views = [await done(world, victim, "listTasks", { includeArtifacts: true, historyLength: 10 })];
  for (const id of [asking, ...others.filter((other) => other !== "berth-7")])
    views.push(await done(world, victim, "getTask", { id }));
  views.push(await done(world, victim, "listTaskPushNotificationConfigs", { taskId: asking }));
  return views.map(({ text }) => text).join("\n");
}

/** What a turn sees of the contexts with these names. */
export async function contextsOf(world: World, who: Who, { context }: Names): Promise<string> {
  const texts: string[] = [];
  for (const [at, contextId] of context.entries()) {
    const request = { message: message(who, "reply", `look-${at}-${who.mark}`, { contextId }) };
    texts.push((await done(world, who, "sendMessage", request)).text);
  }
  return texts.join("\n");
}

/** What callers have of their own, each in each world. */
const owned = new WeakMap<World, Map<Who, Promise<string>>>();

/** The id of a task that waits for its caller, with two push configurations. */
async function ownTask(world: World, who: Who, messageId: string): Promise<string> {
  const result = await done(world, who, "sendMessage", { message: message(who, "ask", messageId) });
  const taskId = textAt(result.replies[0], "task", "id");
  for (const id of ["mine", "second"])
    await done(world, who, "createTaskPushNotificationConfig", { taskId, id, url: hook });
  return taskId;
}

function sharedTask(world: World, who: Who): Promise<string> {
  const tasks = owned.get(world) ?? new Map<Who, Promise<string>>();
  owned.set(world, tasks);
  const task = tasks.get(who) ?? ownTask(world, who, `task-${who.mark}`);
  tasks.set(who, task);
  return task;
}

const changes: ReadonlySet<OperationName> = new Set(["cancelTask", "deleteTaskPushNotificationConfig"]);

/** A request of an operation that names only what the caller has made for it. */
export async function ownRequest(world: World, who: Who, name: OperationName, serial: number): Promise<JsonObject> {
  if (name === "sendMessage" || name === "sendStreamingMessage")
    return { message: message(who, "done", `own-${serial}`) };
  if (name === "listTasks" || name === "getExtendedAgentCard") return {};
  const id = await (changes.has(name) ? ownTask(world, who, `task-${serial}`) : sharedTask(world, who));
  if (!name.includes("PushNotificationConfig")) return { id };
  if (name.startsWith("list")) return { taskId: id };
  return name.startsWith("create") ? { taskId: id, url: hook } : { taskId: id, id: "mine" };
}
