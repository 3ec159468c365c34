import { create } from "@bufbuild/protobuf";
import { type Connection, interfaceText } from "../client/connection.js";
import { describeFailure } from "../client/failures.js";
import type { Client } from "../client/node.js";
import type { ConnectOptions } from "../client/options.js";
import type { RetryNotice } from "../client/retrying.js";
import type { TransportFactory } from "../client/transports.js";
import { type Binding, bindingNames, bindingRow, toBindingName } from "../protocol/bindings.js";
import { A2AError } from "../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../protocol/model.js";
import { v1 } from "../version/v1.0/v1.js";
import type { VersionName } from "../version/versions.js";
import type { CallerFlags } from "./caller.js";
import { printNote } from "./print.js";
import type { Target } from "./target.js";

/** Flags that choose the interface of a call, and report on it. */
export interface ConnectionFlags extends CallerFlags {
  readonly binding?: Binding;
  readonly protocolVersion?: VersionName;
  readonly verbose: boolean;
}

/** Options of the client that follow from the flags of a command. */
export function connectOptions({
  timeout: timeoutMs,
  binding,
  protocolVersion,
  verbose,
}: ConnectionFlags): ConnectOptions {
  return {
    versions: protocolVersion === undefined ? undefined : [protocolVersion],
    timeoutMs,
    limits: timeoutMs === undefined ? {} : { cardTimeoutMs: timeoutMs },
    extendedCard: false,
    // A user prefers an error to a longer wait.
    retry: { maxRetryAfterMs: 5000 },
    onRetry: noteLongWait(),
    onConnection: verbose ? (connection) => printNote(connectionText(connection, binding)) : undefined,
  };
}

/** Connects to an agent by its card, or to the single interface named. */
export async function connect(target: Target, options: ConnectOptions): Promise<Client> {
  const [version = v1.name] = options.versions ?? [];
  if (target.kind === "interface") {
    const { Client } = await import("../client/node.js");
    return Client.connect(makeCard(target, version), { ...options, grpcTls: false });
  }
  const { url, binding } = target;
  if (binding === undefined) return connectAt(url, options);
  const client = await connectAt(url, { ...options, transports: disabledTransports(binding) });
  const wireNames = new Set(client.card.supportedInterfaces.map((each) => each.protocolBinding));
  if ([...wireNames].some((word) => toBindingName(word) === binding)) return client;
  await client.close();
  const names = [...new Set([...wireNames].map(toBindingName))];
  throw new A2AError("unavailable", `the card lists no interface of ${binding}, only ${names.join(", ")}`);
}

/** Connects to the agent at a URL. If there is none, the error names those that its server lists. */
export async function connectAt(url: string, options: ConnectOptions): Promise<Client> {
  // The client takes longer to load than the rest of the command.
  const { Client } = await import("../client/node.js");
  try {
    return await Client.connect(url, options);
  } catch (error) {
    if (!(error instanceof A2AError) || error.code !== "unavailable") throw error;
    const { findSiblingAgents } = await import("./listed-agents.js");
    const agents = await findSiblingAgents(url, options);
    if (agents.length === 0) throw error;
    throw new A2AError("unavailable", `no agent card at ${url}: its server lists agents at ${agents.join(", ")}`);
  }
}

/** Prints once what the command waits for, when the next pause takes the wait beyond a second. */
export function noteLongWait(): (notice: RetryNotice) => void {
  let isPrinted = false;
  return ({ error, failingMs, pauseMs }) => {
    if (isPrinted || failingMs + pauseMs < 1_000) return;
    isPrinted = true;
    printNote(`waiting for the agent: ${describeFailure(error)}`);
  };
}

/** The interface that is used, and the interfaces of the card that were skipped, with the reason. */
export function connectionText({ skipped, ...connection }: Connection, onlyBinding?: Binding): string {
  const others = skipped.map((each) => {
    const reason = onlyBinding === undefined || onlyBinding === each.binding ? each.reason : "not asked for";
    return `skipped ${interfaceText(each)}: ${reason}`;
  });
  return [...others, `using ${interfaceText(connection)}`].join("\n");
}

/** A minimal card with one interface and its version. */
function makeCard({ binding, address }: Extract<Target, { kind: "interface" }>, version: string): AgentCard {
  return create(AgentCardSchema, {
    supportedInterfaces: [{ url: address, protocolBinding: bindingRow(binding).wire, protocolVersion: version }],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  });
}

/** Transports without versions for all other bindings: they are never used. */
function disabledTransports(onlyBinding: Binding): readonly TransportFactory[] {
  const others = bindingNames.filter((binding) => binding !== onlyBinding);
  return others.map((binding) => ({
    binding,
    versions: [],
    create: () => {
      throw new TypeError(`${binding} was not asked for`);
    },
  }));
}
