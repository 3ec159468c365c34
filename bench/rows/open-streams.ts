import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { programs, type Server, startServer } from "../child.ts";
import { post } from "../load/http.ts";
import { openSse } from "../load/sse.ts";
import { type Effort, type Probe, type Row, type Side, scaleCount } from "../row.ts";
import { type HttpCall, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

/** Streams that share a task: one in a hundred is enough to have many of both. */
const streamsPerTask = 100;
const openingAtOnce = 50;

/** What an event stream costs in memory while nothing happens on it. */
export function openStreamsRows(effort: Effort): readonly Row[] {
  const streams = scaleCount(10_000, effort);
  const start = (side: Side, count: number) => () => probe(side, count);
  return [
    {
      name: `idle SSE stream, ${streams.toLocaleString("en")} open`,
      unit: "KB",
      what: "resident memory of the server per open stream after garbage collection, 100 subscribers to a task (peer: 2,000 streams)",
      budgets: [{ of: "unit", atMost: 20 }],
      start: {
        floor: start("floor", streams),
        ours: start("ours", streams),
        peer: start("peer", Math.min(streams, 2_000)),
      },
      maxRounds: { floor: 2, ours: 2, peer: 2 },
    },
  ];
}

/** Each measurement has a fresh process: memory that was once used does not come back to the system. */
function probe(side: Side, count: number): Promise<Probe> {
  return Promise.resolve({
    measure: async () => {
      await using server = await startServer(programs[side]);
      const call = side === "floor" ? () => holding : await subscriptions(server, count);
      const open: IncomingMessage[] = [];
      try {
        await openMany(server, call, streamsPerTask, open);
        const before = await server.ask("rss");
        await openMany(server, call, count, open);
        await delay(500);
        return ((await server.ask("rss")) - before) / count / 1024;
      } finally {
        for (const response of open) response.destroy();
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

const holding = jsonRpcCall("SendStreamingMessage", (n) => sendParams("hold", n));

/** Makes the held tasks, and gives the call that subscribes to each of them in turn. */
async function subscriptions({ http: port }: Server, count: number): Promise<(n: number) => HttpCall> {
  const send = jsonRpcCall("SendMessage", (n) => sendParams("hold", n, { returnImmediately: true }));
  const ids: string[] = [];
  for (let n = 1; n <= Math.ceil(count / streamsPerTask); n++) {
    const { task } = jsonRpcResult<PayloadJson>(await post(port, send, n), n);
    if (!task?.id) throw new Error("no task to subscribe to");
    ids.push(task.id);
  }
  return (n) => jsonRpcCall("SubscribeToTask", () => ({ id: ids[n % ids.length] }));
}

/** Opens `count` streams and waits for the first event of each. */
async function openMany(
  { http: port }: Server,
  call: (n: number) => HttpCall,
  count: number,
  open: IncomingMessage[],
): Promise<void> {
  let streamsLeft = count;
  const worker = async () => {
    while (streamsLeft-- > 0) {
      const n = open.length + streamsLeft;
      const response = await openSse({ port, call: call(n), n });
      open.push(response);
      await firstEvent(response, n);
    }
  };
  await Promise.all(Array.from({ length: openingAtOnce }, worker));
}

function firstEvent(response: IncomingMessage, n: number): Promise<void> {
  return new Promise((resolve, reject) => {
    response.once("error", reject);
    response.once("data", (piece: string) => {
      const data = piece.split("\n").find((line) => line.startsWith("data:"));
      if (data && jsonRpcResult<PayloadJson>(data.slice(5), n).task) resolve();
      else reject(new Error(`a stream began with ${piece.slice(0, 80)}`));
    });
  });
}
