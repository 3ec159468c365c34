import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** The parts of a request that addresses depend on. Every `HttpRequest` is a `Caller`. */
export interface Caller {
  readonly secure: boolean;
  readonly remoteAddress: string | undefined;
  /** Where the program's server mounts the agent, as `/agents/a`. Default: `""`, the root. */
  readonly mountPath?: string | undefined;
  header(name: string): string | undefined;
}

/**
 * Peers trusted as proxies: none, all, or those in a list of addresses and ranges (`10.0.0.0/8`, `::1`). With a list,
 * the value from the outermost listed proxy counts; with `true`, the first value.
 */
export type TrustProxy = boolean | readonly string[];

/** The request at the outermost proxy, as proxies report it. */
export interface ForwardedOrigin {
  readonly proto: string | undefined;
  readonly host: string | undefined;
  readonly prefix: string | undefined;
}

/** Headers that `createForwardedReader` reads, for the `Vary` of replies. */
export const forwardedHeaders = ["Forwarded", "X-Forwarded-Host", "X-Forwarded-Prefix", "X-Forwarded-Proto"] as const;

/** Reads what trusted proxies report about a request; `undefined` when its peer is not trusted. */
export type ReadForwarded = (caller: Caller) => ForwardedOrigin | undefined;

/** Problems of `trustProxy`. */
export function trustProblems(trust: TrustProxy): readonly string[] {
  if (typeof trust === "boolean") return [];
  if (!Array.isArray(trust)) return ["trustProxy must be true, false, or a list of addresses and ranges"];
  return trust
    .filter((range) => readRange(range) === undefined)
    .map((range) => `trustProxy: "${range}" is neither an address nor a range such as "10.0.0.0/8"`);
}

/** Whether a peer at an address is a trusted proxy, for a valid `trustProxy`. */
export function createPeerCheck(trust: TrustProxy): (address: string) => boolean {
  if (typeof trust === "boolean") return () => trust;
  const ranges = trust.map(readRange).filter((range) => range !== undefined);
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const ip = ipaddr.process(address);
    return ranges.some(([network, bits]) => network.kind() === ip.kind() && ip.match(network, bits));
  };
}

/** Creates the reader for a valid `trustProxy`. */
export function createForwardedReader(trust: TrustProxy): ReadForwarded {
  if (trust === false) return () => undefined;
  // Every proxy is trusted: the first value is from the outermost one.
  if (trust === true) return (caller) => pick(readChain(caller), Number.POSITIVE_INFINITY);
  const trusts = createPeerCheck(trust);
  return (caller) => {
    if (!trusts(caller.remoteAddress ?? "")) return undefined;
    const chain = readChain(caller);
    const stranger = chain.addresses.findLastIndex((address) => !trusts(address));
    // The peer is a trusted proxy, and so is each address that a trusted proxy names, up to the first untrusted one.
    return pick(chain, chain.addresses.length - stranger);
  };
}

/** The parts of a call that its network depends on. */
interface CallHead {
  readonly peer?: (() => string | undefined) | undefined;
  header(name: string): string | undefined;
}

/** Stands for the network of HTTP calls whose mount does not know the peer's address. */
export const unknownNetwork = "unknown";

/**
 * Creates the reader of a call's network, for a valid `trustProxy`: of the address that trusted proxies report, else of
 * the peer. With `true`, only the last entry counts, from the nearest proxy: callers may write those before it.
 * `undefined` for a call within the process.
 */
export function callerNetwork(trust: TrustProxy): (call: CallHead) => string | undefined {
  const trusts = createPeerCheck(trust);
  const outermost = (peer: string, addresses: readonly string[]): string => {
    let nearest = peer;
    for (const address of addresses.toReversed()) {
      if (!ipaddr.isValid(address)) return nearest;
      nearest = address;
      if (trust === true || !trusts(address)) return nearest;
    }
    return nearest;
  };
  // Most proxies write one of the headers and pass on the other from the caller. If the two differ, neither counts.
  const reportedNetwork = (peer: string, header: CallHead["header"]): string => {
    const [one = findNetwork(peer), other = one] = reportedChains(header).map((chain) =>
      findNetwork(outermost(peer, chain)),
    );
    return one === other ? one : findNetwork(peer);
  };
  return ({ peer, header }) => {
    if (peer === undefined) return undefined;
    const address = peer() ?? unknownNetwork;
    return trusts(address) ? reportedNetwork(address, header) : findNetwork(address);
  };
}

/** The addresses in each of the headers, oldest first. */
function reportedChains(header: CallHead["header"]): readonly (readonly string[])[] {
  // Only the end of a long list counts: its beginning is the caller's.
  const xForwardedFor = splitHeader((header("x-forwarded-for") ?? "").slice(-maxHeaderLength)).map(readAddress);
  const standard = header("forwarded") ?? "";
  return [xForwardedFor, standard === "" ? [] : standardAddresses(standard)].filter(({ length }) => length > 0);
}

/** Quoted values are closed: a quote that a caller leaves open must not hide what a proxy appended. */
const wellQuoted = /^(?:[^"]|(?<==)"(?:[^"\\]|\\.)*"(?=[\s,;]|$))*$/;

function standardAddresses(header: string): readonly string[] {
  if (header.length > maxHeaderLength || !wellQuoted.test(header)) return ["unreadable"];
  return standardChain(header, { addresses: [], proto: [], host: [], prefix: [] }).addresses;
}

/** The network that limits count as one caller: the address, or 64 bits of IPv6, whose addresses one caller may own. */
export function findNetwork(address: string): string {
  const cachedNetwork = networks.get(address);
  if (cachedNetwork !== undefined) return cachedNetwork;
  if (networks.size >= networksMax) networks.clear();
  const network = parseNetwork(address);
  networks.set(address, network);
  return network;
}

/** Networks by address. */
const networks = new Map<string, string>();
const networksMax = 1000;

function parseNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === "ipv4") return ip.toString();
  return `${ip.toByteArray().slice(0, 8).join(".")}/64`;
}

function readRange(text: string): [IPv4 | IPv6, number] | undefined {
  const [address = "", bits, more] = text.split("/");
  if (more !== undefined || !(address.includes(":") || ipaddr.IPv4.isValidFourPartDecimal(address))) return undefined;
  if (bits !== undefined) return ipaddr.isValidCIDR(text) ? ipaddr.parseCIDR(text) : undefined;
  if (!ipaddr.isValid(address)) return undefined;
  const ip = ipaddr.process(address);
  return [ip, ip.kind() === "ipv4" ? 32 : 128];
}

/** Lists as in the headers: each proxy appends, so the last entry comes from the nearest proxy. */
interface Chain {
  readonly addresses: readonly string[];
  readonly proto: readonly string[];
  readonly host: readonly string[];
  readonly prefix: readonly string[];
}

/** The values of the outermost of `hops` proxies. A proxy that replaces instead of appending leaves a shorter list. */
function pick({ proto, host, prefix }: Chain, hops: number): ForwardedOrigin {
  const entry = (list: readonly string[]) => list[Math.max(0, list.length - hops)] || undefined;
  return { proto: entry(proto)?.toLowerCase(), host: entry(host), prefix: entry(prefix) };
}

/** Longest header that is read; longer ones are ignored. */
const maxHeaderLength = 2048;

function readChain(caller: Caller): Chain {
  const entries = (name: string) => splitHeader(caller.header(name) ?? "");
  const chain = {
    addresses: entries("x-forwarded-for").map(readAddress),
    proto: entries("x-forwarded-proto"),
    host: entries("x-forwarded-host"),
    prefix: entries("x-forwarded-prefix"),
  };
  // Most proxies write X-Forwarded-* and pass on any client's `Forwarded`, so that comes second.
  return chain.proto.length + chain.host.length > 0 ? chain : standardChain(caller.header("forwarded") ?? "", chain);
}

function splitHeader(header: string): readonly string[] {
  return header === "" || header.length > maxHeaderLength ? [] : header.split(",").map((entry) => entry.trim());
}

const parameter = /([\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))/g;

/** RFC 7239: one element for each proxy, separated by commas, of `name=value` separated by semicolons. */
function standardChain(header: string, { prefix }: Chain): Chain {
  if (header === "" || header.length > maxHeaderLength) return { addresses: [], proto: [], host: [], prefix };
  const elements = header.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g) ?? [];
  const values = elements.map((element) => {
    const parameters = Array.from(element.matchAll(parameter), ([, name = "", quotedValue, tokenValue = ""]) => {
      return [name.toLowerCase(), quotedValue?.replace(/\\(.)/g, "$1") ?? tokenValue] as const;
    });
    return new Map(parameters);
  });
  const each = (name: string) => values.map((value) => value.get(name) ?? "");
  return { addresses: each("for").map(readAddress), proto: each("proto"), host: each("host"), prefix };
}

/** The address of a node without port and brackets. */
function readAddress(node: string): string {
  const [, six, four] = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(node) ?? [];
  return six ?? four ?? node;
}
