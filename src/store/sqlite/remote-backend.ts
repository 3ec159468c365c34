import {
  type AnyMethod,
  type AppendResult,
  createPort,
  type MethodKind,
  pushCalls,
  taskCalls,
} from "../../core/ports.js";
import { createGroupCommit } from "../group-commit.js";
import { type InsertedTask, insertedHead } from "../sql/inserted-head.js";
import type { Backend, PushBackend, TaskBackend } from "../sql/rows.js";
import { type BackendRequest, errorFromFault, type GroupAnswer, type RequestRole } from "./messages.js";
import { type GroupWrite, type HotWrite, packWrites } from "./packed.js";
import type { DatabaseThread } from "./thread.js";

/**
 * A database in another thread. Writes that arrive while others are under way are sent and committed together. Reads
 * are sent at once and see every acknowledged write.
 */
export function createRemoteBackend(thread: Pick<DatabaseThread, "ask" | "close">): Backend {
  const flush = async (group: readonly GroupWrite[]): Promise<readonly unknown[]> => {
    const { values, faults } = (await thread.ask({ kind: "group", ...packWrites(group) })) as GroupAnswer;
    if (faults.length === 0) return values;
    const errors = new Map(faults.map(({ index, fault }) => [index, errorFromFault(fault)]));
    return values.map((value, index) => errors.get(index) ?? value);
  };
  const writes = createGroupCommit<GroupWrite, unknown>(flush, { gather: true });
  const hot = <R>(write: HotWrite) => writes.write(write) as Promise<R>;
  const ask = (call: BackendRequest, as?: RequestRole) => thread.ask({ kind: "call", call, as });
  const remote =
    (port: BackendRequest["port"]) =>
    (method: string, kind: MethodKind): AnyMethod =>
    (...args) =>
      kind === "read" ? ask({ port, method, args }) : writes.write({ kind: "call", call: { port, method, args } });
  return {
    ...createPort<TaskBackend>(taskCalls, remote("tasks")),
    push: createPort<PushBackend>(pushCalls, remote("push")),
    async open(report) {
      await thread.ask({ kind: "open" }, report);
    },
    create: async (row) => insertedHead(row, await hot<InsertedTask>({ kind: "create", row })),
    append: (row) => hot<AppendResult>({ kind: "append", row }),
    addToConversations: (rows) => (rows.length === 0 ? Promise.resolve() : hot<void>({ kind: "conversations", rows })),
    // Other processes take this one for dead when its renewal waits behind the reads of its callers.
    renew: (...args) => ask({ port: "tasks", method: "renew", args }, "heartbeat") as ReturnType<Backend["renew"]>,
    // Long, and no caller waits for it: it gets its own transaction.
    prune: (...args) => ask({ port: "tasks", method: "prune", args }, "write") as ReturnType<Backend["prune"]>,
    onFlush: (listener) => writes.listen((flush) => listener({ system: "sqlite", ...flush })),
    async close() {
      await writes.drain();
      await thread.close();
    },
  };
}
