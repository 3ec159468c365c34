import { bindingRow } from "../../protocol/bindings.js";
import { trimSlashes } from "../../protocol/http-rules.js";
import { assertGuarded, isAuthenticated, isLoopback } from "../caller-guard.js";
import { composeAgent, type HostedAgentParts } from "../compose-agent.js";
import { createHostGuard, guardEndpoint } from "../host-guard.js";
import { loggerOf } from "../log/stderr-logger.js";
import type { AgentOptions } from "../options.js";
import type { DirectoryEntry } from "./directory.js";
import { type GrpcPort, openGrpcPort } from "./listeners.js";
import { hasOwnAuth, optionsOf } from "./merged-options.js";
import type { ServedAgentOptions } from "./options.js";
import { type Reach, reachableMounts, reachOf } from "./reach.js";
import type { ServedEntry, SharedParts } from "./shared-parts.js";

/** An agent that is to be served at a path, and what was there before. */
export interface NewEntry {
  /** `""` for the root. */
  readonly path: string;
  readonly agentOptions: ServedAgentOptions;
  readonly before: ServedEntry | undefined;
  readonly portBefore: GrpcPort | undefined;
  /** Settles when an agent with this id no longer drains. */
  readonly departureOf: (agentId: string) => Promise<void> | undefined;
}

interface ComposedEntry {
  readonly entry: ServedEntry;
  readonly port: GrpcPort | undefined;
}

/** Composes an agent for its place in a server. Rejects for options that contradict each other or another agent. */
export async function composeEntry(shared: SharedParts, newEntry: NewEntry): Promise<ComposedEntry> {
  const { path, agentOptions, before, portBefore, departureOf } = newEntry;
  const { host, process, callerGuard, rates } = shared;
  const options = optionsOf(shared, path, agentOptions);
  const { agentId = "", logger } = options;
  const hosts = (agentOptions.hosts ?? []).map((each) => each.toLowerCase());
  assertFree(shared, { path, agentId, hosts });
  assertGuarded(options, host, `the agent at ${path || "/"} on host ${host}`);
  assertCertificates(shared, agentOptions);
  await departureOf(agentId);
  const isOwn = hasOwnAuth(agentOptions);
  const realm = isOwn ? path || "/" : "";
  const { grpcPort, publicGrpc } = agentOptions;
  const reach = reachOf({ path, hasOwnAuth: isOwn, hosts, grpcPort, publicGrpc });
  let port = portBefore?.requestedPort === grpcPort ? portBefore : undefined;
  const agent = await composeAgent(options, {
    ...{ process, realm, rates },
    callerGuard: isOwn ? undefined : callerGuard,
    reachable: (mounts) => reachableMounts(mounts, reach, loggerOf(logger)),
    listening: () => listeningAt(shared, path, port?.port ?? grpcPort),
    clients: shared.clientsOf(path, agentOptions),
    replaces: before?.agent.agentId === agentId ? before.agent : undefined,
  });
  const hasGrpc = agent.bindings.some((name) => bindingRow(name).address === "authority");
  const destination = { service: agent.service, versions: hasGrpc ? agent.versions : [] };
  try {
    if (grpcPort !== undefined)
      port ??= await openGrpcPort(grpcPort, destination, {
        ...shared,
        unsent: shared.process.admission.unsent.open,
        reflection: shared.options.reflection,
      });
  } catch (error) {
    await agent.dismiss();
    throw error;
  }
  const endpoint = endpointOf(shared, { agent, options, hosts });
  return {
    entry: { path, agent, endpoint, hosts, isNamed: isReachedByName(reach, hasGrpc), destination, agentOptions, realm },
    port,
  };
}

// An agent with hosts or a port has no name for gRPC, as one with an authentication of its own.
function isReachedByName(reach: Reach, hasGrpc: boolean): boolean {
  return hasGrpc && (reach.kind === "name" || reach.kind === "root");
}

function listeningAt({ options, address }: SharedParts, path: string, ownGrpcPort: number | undefined) {
  const { origin, grpcPort } = address();
  return { origin, mountPath: `${trimSlashes(options.basePath ?? "")}${path}`, grpcPort: ownGrpcPort ?? grpcPort };
}

function endpointOf(
  { host, options: { allowedHosts = [] } }: SharedParts,
  {
    agent,
    options,
    hosts,
  }: { readonly agent: HostedAgentParts; readonly options: AgentOptions; readonly hosts: readonly string[] },
): DirectoryEntry["endpoint"] {
  if (isAuthenticated(options) || !isLoopback(host)) return agent.endpoint;
  const guard = createHostGuard({ ...options, allowedHosts: [...allowedHosts, ...hosts] });
  return guardEndpoint(agent, guard, {});
}

/** Throws when another agent has the id or a host. */
function assertFree(
  { directory }: SharedParts,
  { path, agentId, hosts }: { readonly path: string; readonly agentId: string; readonly hosts: readonly string[] },
): void {
  for (const other of directory.entries) {
    if (other.path === path) continue;
    const at = `the agent at ${path || "/"}`;
    const taken = `which the agent at ${other.path || "/"} has: give each agent its own`;
    if (other.agent.agentId === agentId) {
      throw new TypeError(`${at} has the agentId ${JSON.stringify(agentId)}, ${taken}`);
    }
    const host = hosts.find((each) => other.hosts.includes(each));
    if (host !== undefined) throw new TypeError(`${at} has the host ${host}, ${taken}`);
  }
}

/** Throws when a scheme reads certificates that the server does not ask for. */
function assertCertificates({ tls, listeners }: SharedParts, { auth }: ServedAgentOptions): void {
  if (tls === undefined || listeners() === undefined) return;
  const authorities = tls.ca === undefined ? [] : [tls.ca].flat().map(String);
  for (const [name, { needsCertificate, clientAuthorities = [] }] of Object.entries(auth?.schemes ?? {})) {
    if (needsCertificate !== true) continue;
    if (tls.requestCert === true && clientAuthorities.every((each) => authorities.includes(each))) continue;
    throw new TypeError(
      `the scheme ${name} reads certificates, which the server does not ask for: an agent that comes later needs \`tls.requestCert\` and its authorities in \`tls.ca\` from the start`,
    );
  }
}
