import { artifact, completed, working } from "trivium";
import { createGrpcTransport } from "../../../src/binding/grpc/client.js";
import { createHttpJsonTransport } from "../../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { Transport } from "../../../src/binding/transport.js";
import type { Agent } from "../../../src/core/agent.js";
import { A2AError } from "../../../src/protocol/errors.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { createFaultProxy, type FaultProxy } from "../../support/fault-proxy.js";
import type { Schedule } from "../../support/fault-schedule.js";
import { adapter } from "../../support/grpc-agent.js";
import { httpAdapter, rpcAdapter } from "../../support/http-agent.js";
import { lineOf } from "../../support/say.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";
import { turns } from "../../support/turns.js";

/** The client ends that are tried bare: nothing stands between them and the socket. */
export const bareWires = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
export type BareWire = (typeof bareWires)[number];

export const isHttp = (wire: BareWire): boolean => wire !== "GRPC";

/** Five lines of a stream, each written on its own. */
export const fiveLines = [
  "task SUBMITTED",
  "status WORKING",
  'artifact x "one two "',
  'artifact x "three" append last',
  "status COMPLETED",
];

/** A served agent and a way to it that can be spoilt. */
export interface Spoilable {
  readonly wire: BareWire;
  readonly served: ServedAgent;
  /** Turns that the agent has begun. */
  readonly runs: number;
  proxy(schedule?: Schedule): Promise<FaultProxy>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves an agent that says `fiveLines` to every message. */
export async function spoilableAgent(wire: BareWire): Promise<Spoilable> {
  let runs = 0;
  const agent: Agent = async function* () {
    runs += 1;
    const text = { artifactId: "x" };
    for (const event of [working(), artifact("one two ", text), artifact("three", { ...text, ...lastChunk })]) {
      yield event;
      await turns(2);
    }
    yield completed();
  };
  const served = await startAgent(wire, { agent });
  const { port, grpcPort = port } = served.server;
  return {
    wire,
    served,
    get runs() {
      return runs;
    },
    proxy: (schedule = []) => createFaultProxy({ target: { port: isHttp(wire) ? port : grpcPort }, schedule }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

const lastChunk = { append: true, lastChunk: true };

/** A transport to whoever listens at a port. */
export function transportAt(wire: BareWire, port: number): Transport & AsyncDisposable {
  const transport = bareTransport(wire, `http://127.0.0.1:${port}`);
  return { ...transport, [Symbol.asyncDispose]: async () => transport.close?.() };
}

function bareTransport(wire: BareWire, url: string): Transport {
  if (wire === "JSONRPC") return createJsonRpcTransport({ url: `${url}/json-rpc`, adapter: rpcAdapter });
  if (wire === "HTTP+JSON") return createHttpJsonTransport({ url: `${url}/http-json`, adapter: httpAdapter });
  return createGrpcTransport({ address: url, adapter });
}

/** How a call ended: with a reply, with the end of its stream, or with an error. */
export interface Outcome<T> {
  readonly reply: T | undefined;
  /** What came over a stream. */
  readonly lines: readonly string[];
  readonly error: A2AError | undefined;
}

/** Waits for a call. Fails when it does not end, or with something else than an `A2AError`. */
export async function outcomeOf<T>(call: Promise<T> | AsyncIterable<StreamItem>): Promise<Outcome<T>> {
  const lines: string[] = [];
  let reply: T | undefined;
  const read = async (): Promise<void> => {
    if (Symbol.asyncIterator in call) for await (const item of call) lines.push(lineOf(item));
    else reply = await call;
  };
  try {
    await inTime(read());
    return { reply, lines, error: undefined };
  } catch (error) {
    if (error instanceof A2AError) return { reply: undefined, lines, error };
    throw error;
  }
}

const patienceMs = 5_000;

/** Fails when something takes too long. */
export async function inTime<T>(wait: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not over after ${patienceMs} ms`)), patienceMs);
  try {
    return await Promise.race([wait, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
