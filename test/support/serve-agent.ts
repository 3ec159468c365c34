import type { Agent, Server } from "trivium";
import { describe } from "vitest";
import { createConnectTransport } from "../../src/binding/connect/client.js";
import { createGrpcTransport } from "../../src/binding/grpc/client.js";
import { createHttpJsonTransport } from "../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../src/binding/json-rpc/client.js";
import { createTransport, type Transport } from "../../src/binding/transport.js";
import { Client } from "../../src/client/node.js";
import type { TransportFactory } from "../../src/client/transports.js";
import { bindingRow } from "../../src/protocol/bindings.js";
import type { CallOptions } from "../../src/protocol/context.js";
import { idempotentSendExtension, resumeExtension } from "../../src/protocol/extensions.js";
import type { AgentCard } from "../../src/protocol/model.js";
import { invokeStream, invokeUnary, type Operations } from "../../src/protocol/operations.js";
import { connectInProcess } from "../../src/testing/connect-to.js";
import type { GrpcAdapter } from "../../src/version/codec.js";
import { versionEntries } from "../../src/version/versions.js";
import { type LogLine, recordingLogger } from "./recording-logger.js";
import { serving, type ToServe } from "./serving.js";
import { turnUntil, type VirtualClock } from "./virtual-clock.js";
import { webTransport } from "./web-transport.js";
import { type Wire, type WireBinding, wireRow, wires } from "./wires.js";

export { type Wire, wires } from "./wires.js";

/** An agent on its own port, and a client over one wire. */
export interface ServedAgent {
  readonly wire: Wire;
  readonly server: Server;
  /** The operations of a `Client` that uses only this wire and retries nothing. */
  readonly client: Operations<CallOptions>;
  /** The wire without a client. */
  readonly transport: Operations<CallOptions>;
  readonly log: readonly LogLine[];
  /** A client over another wire of the same agent. */
  clientOver(wire: Wire): Operations<CallOptions>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type ServedOptions = Partial<ToServe> & {
  readonly agent: Agent;
  /** Advanced when the agent closes, so that nothing keeps waiting. */
  readonly clock?: VirtualClock | undefined;
};

export type StartAgent = (options: ServedOptions) => Promise<ServedAgent>;

type Cases = (start: StartAgent, wire: Wire) => void;

/** Runs the same cases over each chosen wire; with `concurrent` all of them at the same time. */
export function overEach(chosenWires: readonly Wire[], cases: Cases, { concurrent = false } = {}): void {
  const wiresToServe = chosenWires.filter((wire) => serving().wires.includes(wire));
  describe.each(wiresToServe)("over %s", { concurrent }, (wire) => cases((options) => startAgent(wire, options), wire));
}

/** Runs the same cases over all wires. */
export function overEveryWire(cases: Cases, options?: { readonly concurrent: boolean }): void {
  overEach(wires, cases, options);
}

/** Serves an agent on a free port. */
export async function startAgent(wire: Wire, options: ServedOptions): Promise<ServedAgent> {
  const { log, logger } = recordingLogger();
  const card = { name: "Tested", description: "Does what the test says", version: "1.0.0" };
  const { serve, clientsPerWire } = serving();
  const server = await serve({ card, port: 0, drainMs: 0, logger, ...options });
  const clients = new Map<Wire, readonly Promise<Client>[]>();
  const clientsOver = (otherWire: Wire): readonly Promise<Client>[] => {
    const existing =
      clients.get(otherWire) ?? Array.from({ length: clientsPerWire }, () => connectOver(otherWire, server));
    clients.set(otherWire, existing);
    return existing;
  };
  const transport = await bareTransport(wire, server);
  const [only, ...otherClients] = await Promise.all(clientsOver(wire));
  if (only === undefined) throw new TypeError("there is no client");
  return {
    wire,
    server,
    client: otherClients.length === 0 ? only.operations : takeTurns(clientsOver(wire)),
    transport,
    log,
    clientOver: (otherWire) => takeTurns(clientsOver(otherWire)),
    async [Symbol.asyncDispose]() {
      for (const client of [...clients.values()].flat()) await (await client).close();
      await transport.close?.();
      await (options.clock === undefined ? server.close() : turnUntil(options.clock, server.close()));
    },
  };
}

const grpcWeb = "urn:example:grpc-web";

async function connectOver(wire: Wire, server: Server): Promise<Client> {
  const agent = { card: withoutOwnExtensions(server.card), inProcess: server.inProcess };
  const { binding, version } = wireRow(wire);
  if (binding === "in-process") return connectInProcess(agent, { retry: false });
  const [firstInterface] = agent.card.supportedInterfaces;
  if (firstInterface === undefined) throw new TypeError("the card of the agent lists no interface");
  const protocolBinding = binding === "grpc-web" ? grpcWeb : bindingRow(binding).wire;
  const only = { ...firstInterface, protocolBinding, protocolVersion: version, url: addressOf(binding, server) };
  const ownGrpcWeb: TransportFactory = {
    binding: grpcWeb,
    create: async (address) => webTransport(address.url, await grpcAdapterOf(address.version)),
  };
  const card = { ...agent.card, supportedInterfaces: [only] };
  return Client.connect(card, { retry: false, grpcTls: false, transports: [ownGrpcWeb] });
}

// A client activates known extensions by itself, which would deduplicate messages and hide event ids.
function withoutOwnExtensions(card: AgentCard): AgentCard {
  const { capabilities } = card;
  if (capabilities === undefined) return card;
  const extensions = capabilities.extensions.filter(({ uri }) => !ownExtensions.has(uri));
  return { ...card, capabilities: { ...capabilities, extensions } };
}

const ownExtensions: ReadonlySet<string> = new Set([idempotentSendExtension, resumeExtension]);

function addressOf(binding: Exclude<WireBinding, "in-process">, { url, grpcPort }: ServerAddress): string {
  if (binding === "GRPC") return `127.0.0.1:${grpcPort}`;
  return binding === "grpc-web" ? url : url + bindingRow(binding).path;
}

/** Where a server is reached. */
export type ServerAddress = Pick<Server, "url" | "grpcPort" | "inProcess">;

/** The wire to a server, without a client. */
export async function bareTransport(wire: Wire, server: ServerAddress): Promise<Transport> {
  const { binding, version } = wireRow(wire);
  if (binding === "in-process") return server.inProcess();
  const url = addressOf(binding, server);
  const [entry] = versionEntries([version]);
  const versionAdapters = await entry?.load();
  if (binding === "JSONRPC") return createJsonRpcTransport({ url, adapter: assertPresent(versionAdapters?.jsonRpc) });
  if (binding === "HTTP+JSON")
    return createHttpJsonTransport({ url, adapter: assertPresent(versionAdapters?.httpJson) });
  const adapter = assertPresent(versionAdapters?.grpc);
  if (binding === "GRPC") return createGrpcTransport({ address: url, adapter });
  return binding === "CONNECT" ? createConnectTransport({ url, adapter }) : webTransport(url, adapter);
}

async function grpcAdapterOf(version: string): Promise<GrpcAdapter> {
  const [entry] = versionEntries([version]);
  return assertPresent((await entry?.load())?.grpc);
}

function assertPresent<F>(adapter: F | undefined): F {
  if (adapter === undefined) throw new TypeError("the version lacks the binding");
  return adapter;
}

/** The operations of several clients, used in turn once they are connected. */
function takeTurns(clients: readonly Promise<Client>[]): Operations<CallOptions> {
  let calls = 0;
  const nextClient = async (): Promise<Client> => {
    const client = await clients[calls++ % clients.length];
    if (client === undefined) throw new TypeError("there is no client");
    return client;
  };
  return createTransport({
    unary: async (operation, request, options) =>
      invokeUnary((await nextClient()).operations, operation, request, options),
    stream: (operation, request, options) => {
      const items = nextClient().then(({ operations }) =>
        invokeStream(operations, operation, request, options)[Symbol.asyncIterator](),
      );
      const iterator = {
        next: async () => (await items).next(),
        return: async () => (await (await items).return?.()) ?? { done: true as const, value: undefined },
        [Symbol.asyncIterator]: () => iterator,
      };
      return iterator;
    },
  });
}
