import type { CredentialSource } from "../auth/credentials.js";
import { bindingTable } from "../card/mounts.js";
import { idempotentSendExtension, resumeExtension } from "../protocol/extensions.js";
import type { AgentCard } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import { parseVersion } from "../protocol/service-parameters.js";
import type { PassedOver } from "./connection.js";
import { InterfaceClient } from "./interface-client.js";
import { InterfacePool, type InterfacePoolOptions } from "./interface-pool.js";
import type { TransportFactory, TransportSetting } from "./transports.js";

export interface Composition extends Pick<InterfacePoolOptions, "clock" | "probeTimeoutMs" | "onConnection"> {
  readonly transports: readonly TransportFactory[];
  readonly prefer: readonly string[];
  readonly setting: TransportSetting;
  readonly credentials: CredentialSource | undefined;
  /** Whether a secret may be sent to an interface. */
  readonly mayCarry: (binding: string, url: string) => boolean;
  /** Aborts when the client is closed. */
  readonly closed: AbortSignal;
}

/** The interfaces of a card that there is a transport for, in the order in which they are tried. */
export function poolOf(card: AgentCard, composition: Composition): InterfacePool {
  const { transports, prefer, setting, credentials, closed, clock, probeTimeoutMs, onConnection } = composition;
  const interfaces: InterfaceClient[] = [];
  const unusable: PassedOver[] = [];
  for (const { protocolBinding: binding, protocolVersion, url, tenant } of ordered(card, prefer)) {
    // The third number of a version decides nothing (spec 3.6).
    const version = parseVersion(protocolVersion) ?? protocolVersion;
    const known = transports.filter((transport) => transport.binding === binding);
    const factory = known.find(({ versions }) => versions === undefined || versions.includes(version));
    const name = { binding, url, version: protocolVersion };
    if (factory === undefined) {
      unusable.push({
        ...name,
        reason: known.length === 0 ? "this client has no such binding" : "this client does not speak the version",
      });
      continue;
    }
    interfaces.push(
      new InterfaceClient({
        name,
        tenant,
        connect: () => factory.create({ url, version }, setting),
        credentials,
        mayCarry: composition.mayCarry(binding, url),
        headers: setting.headers,
        streamExtensions: resumesByMetadata(card, binding) ? [resumeExtension] : [],
        closed,
      }),
    );
  }
  return new InterfacePool({
    interfaces,
    unusable,
    clock,
    probeTimeoutMs,
    onConnection,
    isRepeatable: repeatableAt(card),
  });
}

/** Interfaces of the preferred bindings first, each in the order of the card. */
function ordered({ supportedInterfaces }: AgentCard, prefer: readonly string[]): AgentCard["supportedInterfaces"] {
  const rank = (binding: string): number => (prefer.includes(binding) ? prefer.indexOf(binding) : prefer.length);
  return supportedInterfaces.toSorted((a, b) => rank(a.protocolBinding) - rank(b.protocolBinding));
}

/** Which operations may be sent twice: those that change nothing more, and messages where the agent knows them again. */
export function repeatableAt(card: AgentCard): (operation: Operation) => boolean {
  const knowsMessages = lists(card, idempotentSendExtension);
  return ({ idempotent, input }) => idempotent || (knowsMessages && input.typeName === "lf.a2a.v1.SendMessageRequest");
}

/** Whether a card lists an extension. */
export function lists({ capabilities }: AgentCard, extension: string): boolean {
  return capabilities?.extensions.some(({ uri }) => uri === extension) ?? false;
}

// Server-sent events have lines for their ids.
function resumesByMetadata(card: AgentCard, binding: string): boolean {
  const numbered: readonly string[] = [bindingTable["json-rpc"].wire, bindingTable["http-json"].wire];
  return !numbered.includes(binding) && lists(card, resumeExtension);
}
