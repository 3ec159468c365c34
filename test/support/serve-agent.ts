import type { Agent, ServeOptions, Server } from "trivium";
import { serve } from "trivium";
import { describe } from "vitest";
import { createGrpcTransport } from "../../src/binding/grpc/client.js";
import { createHttpJsonTransport } from "../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../src/binding/json-rpc/client.js";
import type { CallOptions } from "../../src/protocol/context.js";
import type { Operations } from "../../src/protocol/operations.js";
import { face } from "./grpc-agent.js";
import { httpFace, rpcFace } from "./http-agent.js";
import { type LogLine, recordingLogger } from "./recording-logger.js";
import { turnUntil, type VirtualClock } from "./virtual-clock.js";
import { webTransport } from "./web-transport.js";

/** Every way of calling an agent: the three bindings, and the two browser forms of gRPC. */
export const wires = ["json-rpc", "http-json", "grpc", "connect", "grpc-web"] as const;
export type Wire = (typeof wires)[number];

/** An agent on a port of its own, and a client over one wire. */
export interface ServedAgent {
  readonly wire: Wire;
  readonly server: Server;
  readonly client: Operations<CallOptions>;
  readonly log: readonly LogLine[];
  /** A client over another wire of the same agent. */
  over(wire: Wire): Operations<CallOptions>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type ServedOptions = Partial<ServeOptions> & {
  readonly agent: Agent;
  /** Turned on when the agent is closed, so that nothing waits for it. */
  readonly clock?: VirtualClock | undefined;
};

export type StartAgent = (options: ServedOptions) => Promise<ServedAgent>;

/** Runs the same cases over each wire. */
export function overEach(chosen: readonly Wire[], cases: (start: StartAgent, wire: Wire) => void): void {
  describe.each(chosen)("over %s", (wire) => cases((options) => startAgent(wire, options), wire));
}

/** Runs the same cases over all five wires. */
export function overEveryWire(cases: (start: StartAgent, wire: Wire) => void): void {
  overEach(wires, cases);
}

/** Serves an agent on a free port. */
export async function startAgent(wire: Wire, options: ServedOptions): Promise<ServedAgent> {
  const { log, logger } = recordingLogger();
  const card = { name: "Tested", description: "Does what the test says", version: "1.0.0" };
  const server = await serve({ card, port: 0, drainMs: 0, logger, ...options });
  const closers: (() => void)[] = [];
  const over = (other: Wire): Operations<CallOptions> => clientOf(other, server, closers);
  return {
    wire,
    server,
    client: over(wire),
    log,
    over,
    async [Symbol.asyncDispose]() {
      for (const close of closers) close();
      await (options.clock === undefined ? server.close() : turnUntil(options.clock, server.close()));
    },
  };
}

function clientOf(wire: Wire, server: Server, closers: (() => void)[]): Operations<CallOptions> {
  const { url, grpcPort } = server;
  if (wire === "json-rpc") return createJsonRpcTransport({ url: `${url}/json-rpc`, face: rpcFace });
  if (wire === "http-json") return createHttpJsonTransport({ url: `${url}/http-json`, face: httpFace });
  if (wire !== "grpc") return webTransport(wire, url);
  const client = createGrpcTransport({ address: `127.0.0.1:${grpcPort}`, face });
  closers.push(() => client.close());
  return client;
}
