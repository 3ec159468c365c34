import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { programs, type Server, startServer } from "../child.ts";
import { createGrpcLoader } from "../load/grpc.ts";
import { post } from "../load/http.ts";
import { openSse } from "../load/sse.ts";
import { type Effort, type Probe, type Row, type Side, scaleCount } from "../row.ts";
import { type HttpCall, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

/** Streams that share a task: one in a hundred is enough to have many of both. */
const streamsPerTask = 100;
const openingAtOnce = 50;
/** How many streams a server of ours takes on one connection of HTTP/2. */
const streamsPerConnection = 100;

interface OpenStreams {
  readonly name: string;
  readonly wire: "SSE" | "gRPC";
  /** `subscription`: a hundred share a task. `send`: each stream answers a send, and has a task and a turn of its own. */
  readonly kind: "subscription" | "send";
  readonly count: number;
  /**
   * `rss`: after compacting collections, what the streams need. `residentBytes`: as it is, with the garbage that opening
   * them has left, and with the young generation of V8, which grows to 105 MB while many objects survive.
   */
  readonly question: "rss" | "residentBytes";
  readonly budgets: Row["budgets"];
}

/** What an event stream costs in memory while nothing happens on it. */
export function openStreamsRows(effort: Effort): readonly Row[] {
  const most = scaleCount(10_000, effort);
  const many = scaleCount(5_000, effort);
  const opened = (count: number) => `${count.toLocaleString("en")} open`;
  const sse = { wire: "SSE", kind: "subscription", count: many, question: "residentBytes", budgets: [] } as const;
  const grpc = { ...sse, wire: "gRPC" } as const;
  return [
    rowOf({
      ...sse,
      name: `idle SSE stream, ${opened(most)}`,
      count: most,
      question: "rss",
      budgets: [{ of: "unit", atMost: 20 }],
    }),
    rowOf({ ...sse, name: `idle SSE stream, ${opened(many)}, not collected` }),
    rowOf({ ...sse, kind: "send", name: `idle SSE stream of a send, ${opened(many)}, not collected` }),
    rowOf({ ...grpc, question: "rss", name: `idle gRPC stream, ${opened(many)}` }),
    rowOf({ ...grpc, name: `idle gRPC stream, ${opened(many)}, not collected` }),
  ];
}

function rowOf(streams: OpenStreams): Row {
  const { name, kind, count, question, budgets } = streams;
  const start = (side: Side, most = count) => {
    return () => probe(side, { ...streams, count: Math.min(count, most) });
  };
  const when = question === "rss" ? "after garbage collection" : "without a collection";
  const tasks = kind === "send" ? "each with a task and a turn" : "100 subscribers to a task";
  return {
    name,
    unit: "KB",
    what: `resident memory of the server per open stream ${when}, ${tasks} (floor: no tasks; peer: 2,000 streams)`,
    budgets,
    start: { floor: start("floor"), ours: start("ours"), peer: start("peer", 2_000) },
    maxRounds: { floor: 2, ours: 2, peer: 2 },
  };
}

/** Each measurement has a fresh process: memory that was once used does not come back to the system. */
function probe(side: Side, { wire, kind, count, question }: OpenStreams): Promise<Probe> {
  return Promise.resolve({
    measure: async () => {
      await using server = await startServer(programs[side]);
      const needsTasks = side !== "floor" && kind === "subscription";
      const taskIds = needsTasks ? await holdTasks(server, Math.ceil(count / streamsPerTask)) : [];
      using streams = wire === "SSE" ? new SseStreams(server, taskIds) : new GrpcStreams(server, taskIds);
      await openMany(streams, streamsPerTask);
      const before = await server.ask(question);
      await openMany(streams, count);
      await delay(500);
      return ((await server.ask(question)) - before) / count / 1024;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

/** Starts tasks that run until the server ends. */
async function holdTasks({ http: port }: Server, count: number): Promise<readonly string[]> {
  const send = jsonRpcCall("SendMessage", (n) => sendParams("hold", n, { returnImmediately: true }));
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) {
    const { task } = jsonRpcResult<PayloadJson>(await post(port, send, n), n);
    if (!task?.id) throw new Error("no task to subscribe to");
    ids.push(task.id);
  }
  return ids;
}

/** Streams that stay open until they are disposed: subscriptions to each task in turn, or sends if there is no task. */
interface Streams extends Disposable {
  /** Opens one more and waits for its first event. */
  openOne(): Promise<void>;
}

async function openMany(streams: Streams, count: number): Promise<void> {
  let streamsLeft = count;
  const worker = async () => {
    while (streamsLeft-- > 0) await streams.openOne();
  };
  await Promise.all(Array.from({ length: openingAtOnce }, worker));
}

class SseStreams implements Streams {
  readonly #port: number;
  readonly #call: HttpCall;
  readonly #open: IncomingMessage[] = [];
  #next = 0;

  constructor({ http: port }: Server, taskIds: readonly string[]) {
    this.#port = port;
    this.#call =
      taskIds.length === 0
        ? jsonRpcCall("SendStreamingMessage", (n) => sendParams("hold", n))
        : jsonRpcCall("SubscribeToTask", (n) => ({ id: taskIds[n % taskIds.length] }));
  }

  async openOne(): Promise<void> {
    const n = this.#next++;
    const response = await openSse({ port: this.#port, call: this.#call, n });
    this.#open.push(response);
    await firstEvent(response, n);
  }

  [Symbol.dispose](): void {
    for (const response of this.#open) response.destroy();
  }
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

class GrpcStreams implements Streams {
  readonly #port: number;
  readonly #taskIds: readonly string[];
  readonly #loaders: ReturnType<typeof createGrpcLoader>[] = [];
  #next = 0;

  constructor({ grpc: port }: Server, taskIds: readonly string[]) {
    this.#port = port;
    this.#taskIds = taskIds;
  }

  async openOne(): Promise<void> {
    const n = this.#next++;
    const connection = Math.floor(n / streamsPerConnection);
    this.#loaders[connection] ??= createGrpcLoader(this.#port, { ownConnection: true });
    const loader = await this.#loaders[connection];
    const taskId = this.#taskIds[n % this.#taskIds.length];
    const events = taskId === undefined ? loader.stream("hold") : loader.subscribe(taskId);
    // Not a loop, which would end the stream.
    const { value: event } = await events[Symbol.asyncIterator]().next();
    if (event?.payload.case !== "task") throw new Error("a stream began without its task");
  }

  [Symbol.dispose](): void {
    for (const loader of this.#loaders) void loader.then((opened) => opened[Symbol.dispose]());
  }
}
