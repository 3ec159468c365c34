import { setTimeout as delay } from "node:timers/promises";
import { programs, type Server, startServer } from "../child.ts";
import { stamp } from "../corpus.ts";
import { eventsOf, openSse } from "../load/sse.ts";
import { type Effort, type Probe, type Row, type Side, scaleCount } from "../row.ts";
import { jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams, textOf } from "../wire.ts";

const length = 20_000;
/** The peer's cost grows with the square of the length; twenty thousand chunks would take it minutes. */
const peerLength = 1_000;

/** How long the first chunk of an agent that never waits takes to reach a client, however long the rest takes. */
export function firstEventRows(effort: Effort): readonly Row[] {
  const times = scaleCount(8, effort, 3);
  const start = (side: Side) => () => probe(side, times);
  return [
    {
      name: "first event of an agent that never waits",
      unit: "ms",
      what: `from the yield to the client's socket, the worst of ${times} streams of ${length} chunks (peer: ${peerLength})`,
      budgets: [{ of: "unit", atMost: 5 }],
      start: { floor: start("floor"), ours: start("ours"), peer: start("peer") },
    },
  ];
}

async function probe(side: Side, times: number): Promise<Probe> {
  const server = await startServer(programs[side]);
  const chunks = side === "peer" ? peerLength : length;
  await firstEvent(server, chunks);
  return {
    measure: async () => {
      let worst = 0;
      for (let time = 0; time < times; time++) worst = Math.max(worst, await firstEvent(server, chunks));
      return worst;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Reads a whole stream and gives the delay of its first chunk, in milliseconds. */
async function firstEvent({ http: port }: Server, chunks: number): Promise<number> {
  const call = jsonRpcCall("SendStreamingMessage", (n) => sendParams(`rush ${chunks}`, n));
  let eventCount = 0;
  let latency = 0;
  for await (const { data } of eventsOf(await openSse({ port, call, n: 1 }))) {
    const receivedAt = Number(stamp());
    const { artifactUpdate } = jsonRpcResult<PayloadJson>(data, 1);
    if (artifactUpdate && eventCount++ === 0) latency = receivedAt - Number(textOf(artifactUpdate.artifact));
  }
  if (eventCount !== chunks) throw new Error(`${eventCount} chunks instead of ${chunks}`);
  await delay(20);
  return latency;
}
