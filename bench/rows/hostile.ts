import { setTimeout as delay } from "node:timers/promises";
import { type Server, startProgram, startServer } from "../child.ts";
import { createGrpcLoader } from "../load/grpc.ts";
import { post } from "../load/http.ts";
import type { Effort, Probe, Row } from "../row.ts";
import { assertReply, httpJsonCall, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

const minute = 60_000;
/** The memory at the end of the load may be so many times that of the second minute. */
const memoryGrowth = 1.1;
const honestOwners = 5;
const honestPauseMs = 20;

/** What honest callers notice of one that costs as much as it can. */
export function hostileRows(effort: Effort): readonly Row[] {
  const ms = effort.quick ? minute : 5 * minute;
  return [
    {
      name: `honest callers beside a hostile one, ${ms / minute} min`,
      unit: "ms",
      what: `99th percentile of honest calls under the load of bench/clients/hostile.ts, less that of a quiet server; the row fails when an honest call is refused, or when the mean memory of the last fifth of the load is more than ${memoryGrowth} times that of the second fifth`,
      budgets: [{ of: "unit", atMost: 25 }],
      start: { ours: () => Promise.resolve(probe(ms)) },
      maxRounds: { ours: 1 },
      isAlone: true,
    },
  ];
}

function probe(ms: number): Probe {
  return {
    measure: async () => {
      await using server = await startServer("ours-guarded.ts");
      const honest = honestLoad(server);
      const quiet = await honest.until(delay(ms / 15));
      await using hostile = await startProgram<string>("clients/hostile.ts", [String(server.http)]);
      const load = hostile.ask({ run: ms });
      const [loud, growth] = await Promise.all([honest.until(load), growthOf(server, ms)]);
      if (growth > memoryGrowth) throw new Error(`the memory grew by a factor of ${growth.toFixed(2)}`);
      return percentile99(loud) - percentile99(quiet);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The mean memory of the last fifth of `ms` as a multiple of that of the second fifth. */
async function growthOf(server: Server, ms: number): Promise<number> {
  await delay(ms / 5);
  const memoryBefore = await meanMemory(server, ms / 5);
  await delay((ms * 2) / 5);
  return (await meanMemory(server, ms / 5)) / memoryBefore;
}

/** The mean of the resident memory, asked for each second. A single moment shows how many bytes are in flight just then. */
async function meanMemory(server: Server, ms: number): Promise<number> {
  let sum = 0;
  const count = Math.max(1, Math.floor(ms / 1000) - 1);
  for (let n = 0; n < count; n++) {
    sum += await server.ask("residentBytes");
    await delay(1000);
  }
  return sum / count;
}

interface HonestLoad {
  /** Calls as honest callers do until `end`, and gives how long each call took in milliseconds. A refusal throws. */
  until(end: Promise<unknown>): Promise<readonly number[]>;
}

function honestLoad(server: Server): HonestLoad {
  const callers = Array.from({ length: honestOwners }, (_, owner) => honestCaller(server, `honest-${owner}`));
  const start = (n: number, times: number[]): Promise<void> =>
    timeCall(() => callers[n % honestOwners]?.(n) ?? Promise.resolve(), times);
  return {
    async until(end) {
      let isOver = false;
      const measuredEnd = end.finally(() => {
        isOver = true;
      });
      const times: number[] = [];
      const calls: Promise<void>[] = [];
      for (let n = 1; !isOver; n++) {
        calls.push(start(n, times));
        await delay(honestPauseMs);
      }
      await Promise.all([measuredEnd, ...calls]);
      return times;
    },
  };
}

async function timeCall(call: () => Promise<void>, times: number[]): Promise<void> {
  const start = performance.now();
  await call();
  times.push(performance.now() - start);
}

type HonestCaller = (n: number) => Promise<void>;

/** One caller that sends messages and small tasks over each binding in turn, and checks every answer. */
function honestCaller({ http, grpc }: Server, owner: string): HonestCaller {
  const authorization = `Bearer ${owner}`;
  const message = jsonRpcCall("SendMessage", (n) => sendParams("message", n));
  const task = httpJsonCall("message:send", (n) => sendParams("task 1 100", n));
  const loader = createGrpcLoader(grpc, { metadata: { authorization } });
  const kinds: readonly HonestCaller[] = [
    async (n) => assertReply(jsonRpcResult<PayloadJson>(await post(http, message, n, { authorization }), n)),
    async (n) => {
      const { task: finishedTask }: PayloadJson = JSON.parse(await post(http, task, n, { authorization }));
      if (finishedTask?.status?.state !== "TASK_STATE_COMPLETED") throw new Error("no completed task");
    },
    async () => {
      const { payload } = await (await loader).send("message");
      if (payload.case !== "message") throw new Error("not the reply");
    },
  ];
  return (n) => kinds[n % kinds.length]?.(n) ?? Promise.resolve();
}

function percentile99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
}
