import { lookup as dnsLookup } from "node:dns/promises";
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";
import { ConnectionError } from "../../protocol/errors.js";
import { isLoopback } from "../../protocol/loopback.js";

// Decides which addresses this process connects to: webhooks, agents and every other URL that comes from outside.

/** Addresses that may be called: the internet, this machine, or a list of host names and CIDR blocks. */
export type AllowedAddresses = "public" | "loopback" | readonly string[];

/** `ask`: the name does not decide, its addresses do. */
type HostDecision = "allowed" | "forbidden" | "ask";

/** Which hosts may be called. Host names are in the form of `URL.hostname`. */
export interface AddressPolicy {
  /** The allowed addresses and the option that sets them, for error messages. */
  readonly words: string;
  host(host: string): HostDecision;
  /** Whether a host may be called at an address that its name resolves to. */
  address(address: string): boolean;
}

/** Resolves a host name to its addresses. Rejects if it has none. */
export type Lookup = (name: string) => Promise<readonly string[]>;

/** Resolves a name with the system's resolver. */
const systemLookup: Lookup = async (name) => (await dnsLookup(name, { all: true })).map(({ address }) => address);

/** The policy forbids the host, so it was not called. The message names the host as in the URL, and no address. */
export class ForbiddenAddressError extends ConnectionError {
  constructor(host: string, { words }: AddressPolicy) {
    super(`${host} may not be called, only ${words}`, { written: false, isFinal: true });
    this.name = "ForbiddenAddressError";
  }
}

/**
 * Resolves a host to the addresses to connect to. All have passed the policy, so a client that connects only to them is
 * safe from DNS rebinding.
 *
 * @throws ForbiddenAddressError when the policy forbids the host or one of its addresses, or when there is no address
 */
export async function allowedAddresses(
  host: string,
  policy: AddressPolicy,
  lookup: Lookup = systemLookup,
): Promise<readonly string[]> {
  const verdict = policy.host(host);
  if (verdict === "forbidden") throw new ForbiddenAddressError(host, policy);
  const name = normalizeHost(host);
  if (ipaddr.isValid(name)) return [name];
  const addresses = await lookup(name);
  if (addresses.length > 0 && (verdict === "allowed" || addresses.every(policy.address))) return addresses;
  throw new ForbiddenAddressError(host, policy);
}

/** Creates the policy of an option; error messages name the option. Throws a `TypeError` if the value is invalid. */
export function addressPolicy(allow: AllowedAddresses, option: string): AddressPolicy {
  return createPolicy(chooseRule(allow, option), option);
}

export interface ClientPolicyOptions {
  /**
   * `true`: agents may be at any address; `false`: only on the internet. Default: on the internet, and at the card's
   * own address if the caller named an IP address. This machine is allowed too if the card came from it or was passed
   * in.
   */
  readonly allowPrivate?: boolean | undefined;
  /** The host that the card was read from, as the caller named it. `undefined` if the caller passed the card in. */
  readonly cardHost: string | undefined;
}

/** The policy of a client. A card may point to other addresses than its own, but not into a private network. */
export function clientPolicy({ allowPrivate, cardHost }: ClientPolicyOptions): AddressPolicy {
  if (allowPrivate !== undefined) return createPolicy(allowPrivate ? anyRule : publicRule, "allowPrivate");
  const policy = createPolicy(cardHost === undefined || isLoopback(cardHost) ? nearRule : publicRule, "allowPrivate");
  // An IP address that the caller named is allowed. A name is not: it may resolve to another address next time.
  const cardName = cardHost === undefined ? "" : normalizeHost(cardHost);
  if (!ipaddr.isValid(cardName)) return policy;
  return { ...policy, host: (host) => (normalizeHost(host) === cardName ? "allowed" : policy.host(host)) };
}

type Address = IPv4 | IPv6;
type Block = readonly [Address, number];

/** Decides on names and addresses for one form of the option. */
interface Rule {
  readonly words: string;
  readonly name: (name: string) => HostDecision;
  readonly address: (address: Address) => boolean;
}

function createPolicy(rule: Rule, option: string): AddressPolicy {
  const address = (text: string): boolean => ipaddr.isValid(text) && rule.address(ipaddr.process(text));
  return {
    words: `${rule.words} (${option})`,
    host(host) {
      const name = normalizeHost(host);
      if (!ipaddr.isValid(name)) return rule.name(name);
      return address(name) ? "allowed" : "forbidden";
    },
    address,
  };
}

function chooseRule(allow: AllowedAddresses, option: string): Rule {
  if (allow === "public") return publicRule;
  if (allow === "loopback") return loopbackRule;
  if (Array.isArray(allow) && allow.length > 0) return listRule(allow, option);
  throw new TypeError(`${option} must be "public", "loopback", or a list of host names and CIDR blocks`);
}

// Excludes all special-purpose addresses: private and shared networks, tunnels that lead back into them, test ranges.
const publicRule: Rule = {
  words: "addresses of the internet",
  name: (name) => (isLocalName(name) ? "forbidden" : "ask"),
  address: (address) => address.range() === "unicast" && (address.kind() === "ipv4" || inBlock(address, globalUnicast)),
};

const globalUnicast: Block = ipaddr.parseCIDR("2000::/3");

const loopbackRule: Rule = {
  words: "addresses of this machine",
  name: () => "ask",
  address: (address) => address.range() === "loopback",
};

const nearRule: Rule = {
  words: "addresses of the internet and of this machine",
  name: () => "ask",
  address: (address) => publicRule.address(address) || loopbackRule.address(address),
};

const anyRule: Rule = { words: "any address", name: () => "allowed", address: () => true };

// A listed name is trusted whatever it resolves to. This is how to allow your own network.
function listRule(entries: readonly string[], option: string): Rule {
  const blocks = entries.map((entry) => parseBlock(entry, option)).filter((block) => block !== undefined);
  const names = entries
    .filter((entry) => parseBlock(entry, option) === undefined)
    .map((name) => parsePattern(name, option));
  const exactNames = new Set(names.filter((name) => !name.startsWith("*.")));
  const endings = names.filter((name) => name.startsWith("*.")).map((name) => name.slice(1));
  return {
    words: "what is listed",
    name(name) {
      if (exactNames.has(name) || endings.some((ending) => name.endsWith(ending))) return "allowed";
      return blocks.length === 0 ? "forbidden" : "ask";
    },
    address: (address) => blocks.some((block) => inBlock(address, block)),
  };
}

function parseBlock(entry: string, option: string): Block | undefined {
  if (typeof entry !== "string") throw invalidEntry(String(entry), option);
  const [address = "", bits] = entry.split("/");
  if (!ipaddr.IPv6.isValid(address) && !ipaddr.IPv4.isValidFourPartDecimal(address)) return undefined;
  if (bits !== undefined && !ipaddr.isValidCIDR(entry)) throw invalidEntry(entry, option);
  if (bits !== undefined) return ipaddr.parseCIDR(entry);
  const network = ipaddr.process(address);
  return [network, network.kind() === "ipv4" ? 32 : 128];
}

const namePattern = /^(?:\*\.)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.?$/u;

// Normalizes a name as a URL does, for comparison: lower case, other scripts in their ASCII form.
function parsePattern(entry: string, option: string): string {
  const wildcard = entry.startsWith("*.") ? "*." : "";
  const url = `http://${entry.slice(wildcard.length)}`;
  if (entry === "public" || entry === "loopback" || !namePattern.test(entry) || !URL.canParse(url)) {
    throw invalidEntry(entry, option);
  }
  const name = normalizeHost(new URL(url).hostname);
  if (ipaddr.isValid(name)) throw invalidEntry(entry, option);
  return wildcard + name;
}

function invalidEntry(entry: string, option: string): TypeError {
  return new TypeError(
    `${option}: "${entry}" is neither a host name such as "hooks.example.org" or "*.example.org", nor a CIDR block such as "10.1.0.0/16"`,
  );
}

function inBlock(address: Address, [network, bits]: Block): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function isLocalName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

// Strips the brackets of IPv6 and a trailing dot.
function normalizeHost(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host.replace(/\.$/, "");
}
