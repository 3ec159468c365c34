import type { AppendResult } from "../../core/ports.js";
import { createGroupCommit } from "../group-commit.js";
import { type InsertedTask, insertedHead } from "../sql/inserted-head.js";
import type { Backend } from "../sql/rows.js";
import type { BackendCall, BackendMethod } from "./backend-call.js";
import { errorFromFault, type GroupAnswer } from "./messages.js";
import { type GroupWrite, type HotWrite, packWrites } from "./packed.js";
import type { DatabaseThread } from "./thread.js";

/**
 * A database in another thread. Writes that come while others are under way travel together and are committed in one
 * transaction; reads go at once, and see everything that has been answered.
 */
export function createRemoteBackend(thread: Pick<DatabaseThread, "ask" | "close">): Backend {
  const flush = async (group: readonly GroupWrite[]): Promise<readonly unknown[]> => {
    const { values, faults } = (await thread.ask({ kind: "group", ...packWrites(group) })) as GroupAnswer;
    if (faults.length === 0) return values;
    const failed = new Map(faults.map(({ index, fault }) => [index, errorFromFault(fault)]));
    return values.map((value, index) => failed.get(index) ?? value);
  };
  const writes = createGroupCommit<GroupWrite, unknown>(flush, { gather: true });
  const hot = <R>(write: HotWrite) => writes.write(write) as Promise<R>;
  const write = remote((call) => writes.write({ kind: "call", call }));
  const read = remote((call) => thread.ask({ kind: "call", call }));
  return {
    async open(report) {
      await thread.ask({ kind: "open" }, report);
    },
    create: async (row) => insertedHead(row, await hot<InsertedTask>({ kind: "create", row })),
    append: (row) => hot<AppendResult>({ kind: "append", row }),
    taskNamed: read("taskNamed"),
    read: read("read"),
    head: read("head"),
    recordsAfter: read("recordsAfter"),
    heads: read("heads"),
    list: read("list"),
    put: write("put"),
    inbox: read("inbox"),
    withdraw: write("withdraw"),
    renew: write("renew"),
    retire: write("retire"),
    orphans: read("orphans"),
    due: read("due"),
    beginSend: write("beginSend"),
    readSend: read("readSend"),
    takeSend: write("takeSend"),
    settleSend: write("settleSend"),
    forgetSend: write("forgetSend"),
    pushSet: write("pushSet"),
    pushGet: read("pushGet"),
    pushList: read("pushList"),
    pushDelete: write("pushDelete"),
    pushAdvance: write("pushAdvance"),
    pushSettle: write("pushSettle"),
    pushAdopt: write("pushAdopt"),
    pushRelease: write("pushRelease"),
    // Long, and no caller waits for it: a transaction of its own.
    prune: read("prune"),
    async close() {
      await writes.drain();
      await thread.close();
    },
  };
}

/** Methods that are calls of the other thread; it gives back what the method of that name gives there. */
function remote(ask: (call: BackendCall) => Promise<unknown>) {
  return <M extends BackendMethod>(method: M) =>
    (...args: Parameters<Backend[M]>) =>
      ask({ method, args }) as ReturnType<Backend[M]>;
}
