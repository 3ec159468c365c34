import type { CredentialSource } from "../auth/credentials.js";
import { hasEventIds, toBindingName, wireName } from "../protocol/bindings.js";
import { idempotentSendExtension, resumeExtension } from "../protocol/extensions.js";
import { isLoopback } from "../protocol/loopback.js";
import { type AgentCard, type AgentInterface, typeNames } from "../protocol/model.js";
import { parseVersion } from "../protocol/service-parameters.js";
import { isGuess, knowsMessageIds, knowsTenants } from "../version/traits.js";
import type { InterfaceName, UnusedInterface } from "./connection.js";
import { InterfaceClient } from "./interface-client.js";
import { InterfacePool, type InterfacePoolOptions } from "./interface-pool.js";
import type { SecretPolicy } from "./secret-policy.js";
import type { TransportFactory, TransportSetting } from "./transports.js";

export interface Composition extends Pick<InterfacePoolOptions, "clock" | "probeTimeoutMs" | "onConnection"> {
  readonly transports: readonly TransportFactory[];
  /** Versions that may be spoken. Default: any that a transport can. */
  readonly allowedVersions: readonly string[] | undefined;
  readonly prefer: readonly string[];
  readonly setting: TransportSetting;
  readonly credentials: CredentialSource | undefined;
  /** Where the card was read; `undefined` when the caller passed it as an object. */
  readonly cardUrl: string | undefined;
  /** Says which secrets an interface is called with. */
  readonly secretPlace: (name: InterfaceName) => Promise<SecretPolicy>;
  /** Messages may be resent to agents that deduplicate them. */
  readonly sendOnce: boolean;
  /** Aborts when the client is closed. */
  readonly closeSignal: AbortSignal;
}

/** The callable interfaces of a card, in the order they are tried. */
export function createPool(card: AgentCard, composition: Composition): InterfacePool {
  const { clock, probeTimeoutMs, onConnection } = composition;
  const interfaces = preferIdempotent(
    card,
    sortInterfaces(card, composition.prefer).map((entry) => classify(entry, composition)),
    composition.sendOnce,
  );
  const knowsMessages =
    declaresExtension(card, idempotentSendExtension) &&
    interfaces.every((each) => "reason" in each || knowsMessageIds(each.entry));
  return new InterfacePool({
    interfaces: interfaces.map((each) => ("reason" in each ? each : createInterface(card, each, composition))),
    clock,
    probeTimeoutMs,
    onConnection,
    // Idempotent operations may be sent twice, and so may messages that the agent deduplicates.
    isRepeatable: ({ idempotent, input }, { extensions = [] }) =>
      idempotent ||
      (knowsMessages &&
        input.typeName === typeNames.SendMessageRequest &&
        extensions.includes(idempotentSendExtension)),
  });
}

/** Whether a card lists an interface that can be called. */
export function isCallable(card: AgentCard, composition: Pick<Composition, "transports" | "allowedVersions">): boolean {
  return card.supportedInterfaces.some((entry) => !("reason" in classify(entry, composition)));
}

/** A callable interface. */
interface UsableInterface {
  readonly entry: AgentInterface;
  /** `Major.Minor`. */
  readonly version: string;
  readonly factory: TransportFactory;
}

function classify(
  entry: AgentInterface,
  { transports, allowedVersions }: Pick<Composition, "transports" | "allowedVersions">,
): UsableInterface | UnusedInterface {
  // The patch number of a version is ignored (spec 3.6).
  const version = parseVersion(entry.protocolVersion) ?? entry.protocolVersion;
  const name = toBindingName(entry.protocolBinding);
  const factories = transports.filter(({ binding }) => binding === entry.protocolBinding || binding === name);
  if (factories.length === 0) return unusedInterface(entry, "this client has no such binding");
  const factory = factories.find(({ versions }) => versions === undefined || versions.includes(version));
  if (factory === undefined) return unusedInterface(entry, "this client does not speak the version");
  if (allowedVersions?.includes(version) === false)
    return unusedInterface(entry, "the option `versions` excludes the version");
  if (entry.tenant !== "" && !knowsTenants(entry)) return unusedInterface(entry, "its version cannot name the tenant");
  return { entry, version, factory };
}

/** Drops interfaces over which an agent that deduplicates messages would not do so, unless there are no others. */
function preferIdempotent(
  card: AgentCard,
  interfaces: readonly (UsableInterface | UnusedInterface)[],
  sendOnce: boolean,
): readonly (UsableInterface | UnusedInterface)[] {
  const isNameless = (each: UsableInterface | UnusedInterface): each is UsableInterface =>
    !("reason" in each) && !knowsMessageIds(each.entry);
  if (
    !sendOnce ||
    !declaresExtension(card, idempotentSendExtension) ||
    interfaces.every((each) => "reason" in each || isNameless(each))
  )
    return interfaces;
  return interfaces.map((each) =>
    isNameless(each) ? unusedInterface(each.entry, "its version has no ids by which the agent knows messages") : each,
  );
}

function unusedInterface(entry: AgentInterface, reason: string): UnusedInterface {
  return { ...nameInterface(entry), reason };
}

function nameInterface({ protocolBinding, url, protocolVersion: version }: AgentInterface): InterfaceName {
  const binding = toBindingName(protocolBinding);
  return {
    binding,
    url,
    version,
    ...(protocolBinding === wireName(protocolBinding) ? {} : { listedAs: protocolBinding }),
  };
}

function createInterface(
  card: AgentCard,
  { entry, version, factory }: UsableInterface,
  composition: Composition,
): InterfaceClient {
  const { setting, credentials, closeSignal, cardUrl } = composition;
  const { tenant } = entry;
  const url = reachableUrl(entry.url, cardUrl);
  const name = nameInterface(entry);
  const { binding } = name;
  const isGuessed = isGuess(entry, card.supportedInterfaces);
  return new InterfaceClient({
    name,
    tenant,
    takesTenants: knowsTenants(entry),
    isGuess: isGuessed,
    connect: () => factory.create({ url, version, isGuess: isGuessed }, setting),
    credentials,
    place: () => composition.secretPlace({ ...name, url }),
    headers: setting.headers,
    streamExtensions: resumesByMetadata(card, binding) ? [resumeExtension] : [],
    closeSignal,
  });
}

/**
 * The URL at which an interface is called. Agents that listen on all addresses sometimes list `0.0.0.0` or `[::]`. If
 * the card was read from this machine, the host of the card takes its place; otherwise the address policy refuses it.
 */
function reachableUrl(url: string, cardUrl: string | undefined): string {
  const cardHost = URL.parse(cardUrl ?? "")?.hostname;
  if (cardHost === undefined || !isLoopback(cardHost)) return url;
  return url.replace(/^(\w+:\/\/)?(?:0\.0\.0\.0|\[::\])(?=[:/?#]|$)/, (_, scheme = "") => scheme + cardHost);
}

/** The newest version first, then the preferred bindings, each in the card's order. */
function sortInterfaces(
  { supportedInterfaces }: AgentCard,
  prefer: readonly string[],
): AgentCard["supportedInterfaces"] {
  const rank = (word: string): number => {
    const index = prefer.findIndex((binding) => binding === word || binding === toBindingName(word));
    return index < 0 ? prefer.length : index;
  };
  return supportedInterfaces.toSorted(
    (a, b) =>
      rankAge(a.protocolVersion) - rankAge(b.protocolVersion) || rank(a.protocolBinding) - rank(b.protocolBinding),
  );
}

// Larger for older versions. An unknown name sorts first, like a version newer than all known ones.
function rankAge(name: string): number {
  const version = parseVersion(name);
  if (version === undefined) return Number.NEGATIVE_INFINITY;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return -(major * 10_000 + minor);
}

/** Whether a card declares an extension. */
export function declaresExtension({ capabilities }: AgentCard, extension: string): boolean {
  return capabilities?.extensions.some(({ uri }) => uri === extension) ?? false;
}

// Server-sent events have a field for event ids.
function resumesByMetadata(card: AgentCard, binding: string): boolean {
  return !hasEventIds(binding) && declaresExtension(card, resumeExtension);
}
