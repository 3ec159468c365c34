import type { ConversationRecord, ConversationWrite, Store } from "../../src/core/ports.js";
import { builtFile } from "../built.ts";
import { cpuProbe, type Work } from "../cpu-probe.ts";
import { startOnFile, temporaryFolder } from "../files.ts";
import { createHttpLoader } from "../load/http.ts";
import type { Effort, Probe, Row } from "../row.ts";
import { scaleCount } from "../row.ts";
import { assertReply, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

const scope = { agent: "", tenant: "", owner: "owner" };
const pageSize = 50;

/** What conversations cost a message reply on SQLite, and how long the latest entries take to read there. */
export function conversationRows(effort: Effort): readonly Row[] {
  const contexts = effort.quick ? 100 : 1_000;
  return [
    replyRow(effort),
    pageRow(`${contexts.toLocaleString("en")} contexts of 1,000 entries`, { contexts, entries: 1_000 }),
    pageRow("one context of 100,000 entries", { contexts: 1, entries: 100_000 }),
  ];
}

function replyRow(effort: Effort): Row {
  const size = { warmUp: scaleCount(40_000, effort, 3_000), count: scaleCount(6_000, effort) };
  const work = ({ http: port }: { readonly http: number }): Work => {
    const check = (body: string, n: number) => assertReply(jsonRpcResult<PayloadJson>(body, n));
    return createHttpLoader({ port, call: jsonRpcCall("SendMessage", (n) => sendParams("message", n)), check });
  };
  return {
    name: "SQLite: message reply",
    unit: "µs",
    what: "CPU time of the server, all threads, per JSON-RPC call, 16 in flight. Floor: in memory",
    budgets: [{ of: "floor", atMost: 1.1 }],
    start: {
      floor: () => cpuProbe("ours", work, size),
      ours: () => cpuProbe(() => startOnFile("ours"), work, size),
    },
  };
}

interface Filling {
  readonly contexts: number;
  readonly entries: number;
}

function pageRow(name: string, filling: Filling): Row {
  return {
    name: `SQLite: last ${pageSize} of a conversation, ${name}`,
    unit: "ms",
    what: `99th percentile of the time of ${pageSize} entries read from the store, of contexts in turn`,
    budgets: [{ of: "unit", atMost: 2 }],
    start: { ours: () => pageProbe(filling) },
    maxRounds: { ours: 1 },
    isAlone: true,
  };
}

async function pageProbe({ contexts, entries }: Filling): Promise<Probe> {
  await using opening = new AsyncDisposableStack();
  const { path } = opening.use(temporaryFolder());
  const { sqliteStore }: typeof import("../../src/store/sqlite/index.js") = await import(
    builtFile("src/store/sqlite/index.js")
  );
  const store = sqliteStore({ path: `${path}/tasks.db`, synchronous: "NORMAL" });
  opening.defer(() => store.close());
  await fill(store, { contexts, entries });
  const resources = opening.move();
  return {
    measure: () => percentileOfPages(store, { contexts, entries }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function fill(store: Store, { contexts, entries }: Filling): Promise<void> {
  const batch = 500;
  for (let entryCount = 0; entryCount < entries; entryCount += batch) {
    const records = Array.from({ length: Math.min(batch, entries - entryCount) }, (_, index) =>
      entryOf(entryCount + index),
    );
    for (let context = 0; context < contexts; context++) {
      await store.addToConversations([writeOf(context, records, entries)]);
    }
  }
}

function entryOf(number: number): ConversationRecord {
  const value =
    `The ship ${number} has asked for a berth of 190 m and a depth of 12 m for two nights from noon on. `.repeat(2);
  const part = { $typeName: "lf.a2a.v1.Part", content: { case: "text", value }, filename: "", mediaType: "" } as const;
  const content = {
    ...({
      $typeName: "lf.a2a.v1.Message",
      messageId: `message ${number}`,
      contextId: "",
      taskId: "",
      role: 1,
    } as const),
    ...{ parts: [part], extensions: [], referenceTaskIds: [] },
  };
  return { kind: "user", id: content.messageId, taskId: "", at: 1_000 + number, content, bytes: 250 };
}

function writeOf(context: number, entries: readonly ConversationRecord[], maxEntries: number): ConversationWrite {
  const contextId = `context ${context}`;
  return { scope, contextId, entries, maxEntries, usedAt: 1_000, expiresAt: undefined };
}

async function percentileOfPages(store: Store, { contexts, entries }: Filling): Promise<number> {
  const times: number[] = [];
  for (let readCount = 0; readCount < 2_000; readCount++) {
    // Contexts far from each other, as callers come.
    const contextId = `context ${(readCount * 389) % contexts}`;
    const began = performance.now();
    const page = await store.readConversation(scope, contextId, { limit: pageSize, maxBytes: 8 << 20 });
    if (readCount >= 500) times.push(performance.now() - began);
    if (page.length !== pageSize || page.at(-1)?.number !== entries) throw new Error("not the latest entries");
  }
  const sortedTimes = times.toSorted((a, b) => a - b);
  return sortedTimes[Math.ceil(sortedTimes.length * 0.99) - 1] ?? Number.NaN;
}
