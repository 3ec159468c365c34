import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";

/** Addresses that webhooks may have: the internet, this machine, or a list of host names and CIDR blocks. */
export type PushAllow = "public" | "loopback" | readonly string[];

/** `ask`: the name does not tell, its addresses decide. */
export type HostVerdict = "allowed" | "forbidden" | "ask";

/** Which hosts may be called. Hosts are as `URL.hostname` spells them. */
export interface PushPolicy {
  host(host: string): HostVerdict;
  /** Whether a host may be called at an address that its name stands for. */
  address(address: string): boolean;
}

type Address = IPv4 | IPv6;
type Block = readonly [Address, number];

/** What one form of `allow` says of names and of addresses. */
interface Rule {
  readonly name: (name: string) => HostVerdict;
  readonly address: (address: Address) => boolean;
}

/** Makes the policy of an `allow`. Throws a `TypeError` for one that says nothing clear. */
export function createPolicy(allow: PushAllow): PushPolicy {
  const rule = ruleOf(allow);
  const address = (text: string): boolean => ipaddr.isValid(text) && rule.address(ipaddr.process(text));
  return {
    host(host) {
      const name = nameOf(host);
      if (!ipaddr.isValid(name)) return rule.name(name);
      return address(name) ? "allowed" : "forbidden";
    },
    address,
  };
}

function ruleOf(allow: PushAllow): Rule {
  if (allow === "public") return publicRule;
  if (allow === "loopback") return loopbackRule;
  if (Array.isArray(allow) && allow.length > 0) return listRule(allow);
  throw new TypeError('push.allow must be "public", "loopback", or a list of host names and CIDR blocks');
}

// Everything with a purpose of its own is left out: private and shared networks, tunnels that lead back into them, tests.
const publicRule: Rule = {
  name: (name) => (isLocalName(name) ? "forbidden" : "ask"),
  address: (address) => address.range() === "unicast" && (address.kind() === "ipv4" || inBlock(address, globalUnicast)),
};

const globalUnicast: Block = ipaddr.parseCIDR("2000::/3");

const loopbackRule: Rule = {
  name: () => "ask",
  address: (address) => address.range() === "loopback",
};

// A name that is listed is trusted with whatever addresses it has: that is how one's own network is let in.
function listRule(entries: readonly string[]): Rule {
  const blocks = entries.map(blockOf).filter((block) => block !== undefined);
  const names = entries.filter((entry) => blockOf(entry) === undefined).map(patternOf);
  const exact = new Set(names.filter((name) => !name.startsWith("*.")));
  const endings = names.filter((name) => name.startsWith("*.")).map((name) => name.slice(1));
  return {
    name(name) {
      if (exact.has(name) || endings.some((ending) => name.endsWith(ending))) return "allowed";
      return blocks.length === 0 ? "forbidden" : "ask";
    },
    address: (address) => blocks.some((block) => inBlock(address, block)),
  };
}

function blockOf(entry: string): Block | undefined {
  if (typeof entry !== "string") throw unclear(String(entry));
  const [address = "", bits] = entry.split("/");
  if (!ipaddr.IPv6.isValid(address) && !ipaddr.IPv4.isValidFourPartDecimal(address)) return undefined;
  if (bits !== undefined && !ipaddr.isValidCIDR(entry)) throw unclear(entry);
  if (bits !== undefined) return ipaddr.parseCIDR(entry);
  const parsed = ipaddr.process(address);
  return [parsed, parsed.kind() === "ipv4" ? 32 : 128];
}

const namePattern = /^(?:\*\.)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*\.?$/u;

// As a URL spells it, so that it can be compared: lower case, other scripts in their ASCII form.
function patternOf(entry: string): string {
  const wildcard = entry.startsWith("*.") ? "*." : "";
  const spelt = `http://${entry.slice(wildcard.length)}`;
  if (entry === "public" || entry === "loopback" || !namePattern.test(entry) || !URL.canParse(spelt)) {
    throw unclear(entry);
  }
  const name = nameOf(new URL(spelt).hostname);
  if (ipaddr.isValid(name)) throw unclear(entry);
  return wildcard + name;
}

function unclear(entry: string): TypeError {
  return new TypeError(
    `push.allow: "${entry}" is no host name such as "hooks.example.org" or "*.example.org", and no CIDR block such as "10.1.0.0/16"`,
  );
}

function inBlock(address: Address, [network, bits]: Block): boolean {
  return address.kind() === network.kind() && address.match(network, bits);
}

function isLocalName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

/** A host without the brackets of IPv6 and without the dot that may end a name. */
export function nameOf(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host.replace(/\.$/, "");
}
