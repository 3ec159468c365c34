import type { JsonObject } from "@bufbuild/protobuf";
import { artifact, completed, inputRequired, type Server, serve, working } from "trivium";
import type { Client } from "../../../src/client/node.js";
import type { ClientOptions } from "../../../src/client/options.js";
import { bindingNames, bindingRow } from "../../../src/protocol/bindings.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { connectTo } from "../../../src/testing/index.js";
import { taskOf } from "../../support/answers.js";
import { patientClients } from "../../support/clients.js";
import { createFaultProxy, type FaultProxy } from "../../support/fault-proxy.js";
import type { Schedule } from "../../support/fault-schedule.js";
import { turns } from "../../support/turns.js";
import { hasty } from "./resuming-agent.js";
import { toldLine } from "./resuming-events.js";

// A Trivium server behind a proxy that damages connections.

export const allBindings = bindingNames;
type AnyBinding = (typeof allBindings)[number];

interface FaultyWay extends AsyncDisposable {
  readonly proxy: FaultProxy;
  readonly client: Client;
}

export interface FaultyServer extends AsyncDisposable {
  readonly server: Server;
  /** A client without a connection. */
  readonly direct: Client;
  /** The number of turns begun. */
  readonly runs: number;
  /** Starts a task that stays WORKING until `release`. */
  hold(): Promise<string>;
  release(): void;
  /** A client whose connections go through a proxy. */
  way(binding: AnyBinding, schedule: Schedule, options?: ClientOptions): Promise<FaultyWay>;
}

/** The agent's output for "go", line by line. */
export const sixLines = [
  "task SUBMITTED",
  "status WORKING",
  'artifact x "one "',
  'artifact x "two " append',
  'artifact x "three" append last',
  "status COMPLETED",
];

/** The stream of its reply to an answered question. */
export const answerLines = ["task INPUT_REQUIRED", "status WORKING", 'artifact y "so"', "status COMPLETED"];

/** Serves an agent that emits `sixLines`. For "ask" it asks a question first; for "hold" it waits for its release. */
export async function faultyServer(): Promise<FaultyServer> {
  let runs = 0;
  let gate = Promise.withResolvers<void>();
  const server = await serve({
    card: { name: "Faulty", description: "Is called over bad lines", version: "1" },
    port: 0,
    drainMs: 0,
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
    async *agent({ text, task }) {
      runs++;
      if (text === "ask") {
        yield working();
        yield inputRequired("which?");
        return;
      }
      const artifactId = task === undefined ? "x" : "y";
      yield working();
      if (text === "hold") await gate.promise;
      if (task === undefined) {
        for (const [place, piece] of ["one ", "two ", "three"].entries()) {
          yield artifact(piece, { artifactId, append: place > 0, lastChunk: place === 2 });
          await turns(2);
        }
      } else yield artifact("so", { artifactId });
      yield completed();
    },
  });
  const card = await (await fetch(`${server.url}/.well-known/agent-card.json`)).text();
  const direct = await connectTo(server);
  return {
    server,
    direct,
    get runs() {
      return runs;
    },
    async hold() {
      gate.resolve();
      gate = Promise.withResolvers();
      return taskOf(await direct.send("hold", { configuration: { returnImmediately: true } })).id;
    },
    release: () => gate.resolve(),
    async way(binding, schedule, options = {}) {
      const proxy = await createFaultProxy({ target: { port: server.port }, schedule });
      const client = await patientClients.connect(cardAt(card, binding, server.port, proxy.port), {
        clock: hasty,
        grpcTls: false,
        ...options,
      });
      return {
        proxy,
        client,
        async [Symbol.asyncDispose]() {
          await client.close();
          await proxy[Symbol.asyncDispose]();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      gate.resolve();
      await direct.close();
      await server.close();
    },
  };
}

function cardAt(card: string, binding: AnyBinding, own: number, other: number): JsonObject {
  const json = JSON.parse(card.replaceAll(`:${own}`, `:${other}`)) as JsonObject;
  const { wire } = bindingRow(binding);
  const only = (json["supportedInterfaces"] as JsonObject[]).find((each) => each["protocolBinding"] === wire);
  if (only === undefined) throw new Error(`the card has no ${binding}`);
  return { ...json, supportedInterfaces: [only] };
}

/** The outcome of a stream. */
export interface Ended {
  readonly lines: readonly string[];
  readonly error: unknown;
}

export async function ended(stream: AsyncIterable<StreamItem>): Promise<Ended> {
  const lines: string[] = [];
  try {
    for await (const item of stream) lines.push(toldLine(item));
    return { lines, error: undefined };
  } catch (error) {
    return { lines, error };
  }
}
