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

/** The client transports under test, with nothing between them and the socket. */
export const bareWires = ["JSONRPC", "HTTP+JSON", "GRPC"] as const;
export type BareWire = (typeof bareWires)[number];

export const isHttp = (wire: BareWire): boolean => wire !== "GRPC";

/** Five lines of a stream, each written separately. */
export const fiveLines = [
  "task SUBMITTED",
  "status WORKING",
  'artifact x "one two "',
  'artifact x "three" append last',
  "status COMPLETED",
];

/** A served agent, reachable through a proxy that injects faults. */
export interface Spoilable {
  readonly wire: BareWire;
  readonly served: ServedAgent;
  /** Number of turns that the agent started. */
  readonly runs: number;
  proxy(schedule?: Schedule): Promise<FaultProxy>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves an agent that replies to every message with `fiveLines`. */
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

/** A transport to a local port. */
export function transportAt(wire: BareWire, port: number): Transport & AsyncDisposable {
  const transport = bareTransport(wire, `http://127.0.0.1:${port}`);
  return { ...transport, [Symbol.asyncDispose]: async () => transport.close?.() };
}

function bareTransport(wire: BareWire, url: string): Transport {
  if (wire === "JSONRPC") return createJsonRpcTransport({ url: `${url}/json-rpc`, adapter: rpcAdapter });
  if (wire === "HTTP+JSON") return createHttpJsonTransport({ url: `${url}/http-json`, adapter: httpAdapter });
  return createGrpcTransport({ address: url, adapter });
}

/** The outcome of a call: a reply, the end of its stream, or an error. */
export interface Outcome<T> {
  readonly reply: T | undefined;
  /** The lines received from a stream. */
  readonly lines: readonly string[];
  readonly error: A2AError | undefined;
}

/** Waits for a call. Fails on a timeout, and if the call fails with anything but an `A2AError`. */
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

/** Fails if a promise takes too long. */
export async function inTime<T>(wait: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not over after ${patienceMs} ms`)), patienceMs);
  try {
    return await Promise.race([wait, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
