import { setTimeout as delay } from "node:timers/promises";
import { programs, type Server, startServer } from "../child.ts";
import { chunkNumbers } from "../corpus.ts";
import { eventsOf, openSse, StreamRefused } from "../load/sse.ts";
import type { Probe, Row, Side } from "../row.ts";
import { type HttpCall, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams, textOf } from "../wire.ts";

/** How a subscriber reads: when it comes, how slowly it reads, and after how many events it leaves and comes back. */
interface Reader {
  readonly comesAfterMs: number;
  readonly pauseMs?: number;
  readonly leavesAfter?: number;
}

const readers: readonly Reader[] = [
  { comesAfterMs: 0 },
  { comesAfterMs: 400 },
  { comesAfterMs: 50, pauseMs: 8 },
  { comesAfterMs: 20, leavesAfter: 150 },
  { comesAfterMs: 200, leavesAfter: 1, pauseMs: 5 },
];

/** Enough for a slow reader to fall behind all socket buffers between it and the server. */
const length = 40_000;
const peerLength = 1_000;

/** Late, slow and returning subscribers of one running task: what they miss and what they get twice. */
export function subscriberRows(): readonly Row[] {
  const start = (side: Side) => () => probe(side, side === "peer" ? peerLength : length);
  return [
    {
      name: "late, slow, returning subscriber: lost + doubled",
      unit: "events",
      what: `chunks lost plus chunks doubled over ${readers.length} subscribers to one task of ${length} chunks (peer: ${peerLength})`,
      budgets: [{ of: "unit", atMost: 0 }],
      start: { ours: start("ours"), peer: start("peer") },
      maxRounds: { ours: 2, peer: 1 },
    },
  ];
}

async function probe(side: Side, chunks: number): Promise<Probe> {
  const server = await startServer(programs[side]);
  return {
    measure: async () => {
      const taskId = await startTask(server, chunks);
      const deliveries = await Promise.all(readers.map((reader) => readTask(server, taskId, reader)));
      return deliveries.reduce((faults, numbers) => faults + lostAndDoubled(numbers, chunks), 0);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Starts the task by a stream that is left at once: a client that goes away ends its subscription, not the task. */
async function startTask({ http: port }: Server, chunks: number): Promise<string> {
  const call = jsonRpcCall("SendStreamingMessage", (n) => sendParams(`paced ${chunks}`, n));
  for await (const { data } of eventsOf(await openSse({ port, call, n: 1 }))) {
    const id = jsonRpcResult<PayloadJson>(data, 1).task?.id;
    if (id) return id;
  }
  throw new Error("the stream had no task");
}

/** The numbers of all chunks that a subscriber got, those of the snapshot included, over all its visits. */
async function readTask({ http: port }: Server, taskId: string, reader: Reader): Promise<readonly number[]> {
  const call: HttpCall = jsonRpcCall("SubscribeToTask", () => ({ id: taskId }));
  const visit = async function* (lastEventId?: string) {
    const response = await openSse({ port, call, n: 1, lastEventId });
    for await (const { id, data } of eventsOf(response, reader.pauseMs)) {
      yield { id, payload: jsonRpcResult<PayloadJson>(data, 1) };
    }
  };

  await delay(reader.comesAfterMs);
  let numbers: number[] = [];
  let lastId: string | undefined;
  let eventsLeft = reader.leavesAfter ?? Number.POSITIVE_INFINITY;
  const take = ({ id, payload: { task, artifactUpdate } }: { id: string | undefined; payload: PayloadJson }) => {
    lastId = id ?? lastId;
    if (task) numbers = (task.artifacts ?? []).flatMap((artifact) => [...chunkNumbers(textOf(artifact))]);
    if (artifactUpdate) numbers.push(...chunkNumbers(textOf(artifactUpdate.artifact)));
  };
  for await (const event of visit()) {
    take(event);
    if (--eventsLeft <= 0) break;
  }
  if (eventsLeft > 0) return numbers;
  await delay(60);
  try {
    for await (const event of visit(lastId)) take(event);
  } catch (error) {
    // A server that does not take the subscriber back has lost it the rest; that is counted.
    if (!(error instanceof StreamRefused)) throw error;
  }
  return numbers;
}

function lostAndDoubled(numbers: readonly number[], chunks: number): number {
  const different = new Set(numbers).size;
  return chunks - different + (numbers.length - different);
}
