import { describe, expect, it } from "vitest";
import { type Caller, callerNetwork, createForwardedReader, type TrustProxy } from "../../src/card/proxy.js";

const inner = "10.0.0.1";
const outer = "10.0.0.2";
const stranger = "203.0.113.9";

function read(trust: TrustProxy, headers: Readonly<Record<string, string>>, remoteAddress: string | undefined = inner) {
  const caller: Caller = { secure: false, remoteAddress, header: (name) => headers[name] };
  return createForwardedReader(trust)(caller);
}

it.each([
  ["nobody is trusted", false, inner],
  ["the peer is a stranger", ["10.0.0.0/8"], stranger],
  ["the peer's address is unknown", ["10.0.0.0/8"], ""],
  ["the peer is of the other family", ["::/0"], inner],
] as const)("no header of a proxy is trusted when %s", (_, trust, from) => {
  expect(read(trust, { "x-forwarded-host": "port.example" }, from)).toBeUndefined();
});

it("what an untrusted peer wrote before the trusted proxy is ignored", () => {
  const headers = {
    "x-forwarded-for": `198.51.100.1, ${stranger}`,
    "x-forwarded-host": "evil.example, port.example",
    "x-forwarded-proto": "HTTP, HTTPS",
  };
  expect(read(["10.0.0.0/8"], headers)).toEqual({ host: "port.example", proto: "https", prefix: undefined });
});

it("trusted proxies are followed to the outermost of them", () => {
  const headers = { "x-forwarded-for": `${stranger}, ${outer}`, "x-forwarded-host": "port.example, inside.example" };
  expect(read(["10.0.0.0/8"], headers)?.host).toBe("port.example");
  expect(read([inner], headers)?.host).toBe("inside.example");
});

it("the one value that a proxy set for all of them is taken", () => {
  const headers = { "x-forwarded-for": `${stranger}, ${outer}`, "x-forwarded-host": "port.example" };
  expect(read(["10.0.0.0/8"], headers)?.host).toBe("port.example");
});

it("the first value is taken when every peer is trusted", () => {
  expect(read(true, { "x-forwarded-host": "port.example, inside.example" })?.host).toBe("port.example");
});

it.each([
  ["host=port.example;proto=https", { host: "port.example", proto: "https" }],
  ['for="[2001:db8::1]:4711";Host="port.example:8443";Proto=https', { host: "port.example:8443", proto: "https" }],
  [`for=198.51.100.1;host=evil.example, for=${stranger};host=port.example`, { host: "port.example" }],
  [`for=${stranger};host=port.example, for="${outer}:80";host=inside.example`, { host: "port.example" }],
  [`for=${stranger};host=port.example, for=${outer}`, { host: "port.example" }],
  ['by="a, b; host=evil.example";host=port.example', { host: "port.example" }],
  ["for=unknown", {}],
  ['host="port.example', {}],
  ["", {}],
])("the header `Forwarded: %s` is read", (forwarded, expected) => {
  expect(read(["10.0.0.0/8"], { forwarded })).toEqual(expected);
});

it("`Forwarded` is used only when no X-Forwarded header says the same", () => {
  const headers = { forwarded: "host=evil.example", "x-forwarded-host": "port.example" };
  expect(read(true, headers)?.host).toBe("port.example");
});

it("headers of a proxy that are longer than any route are not read", () => {
  const quotes = '"\\'.repeat(20_000);
  expect(read(true, { forwarded: `host=port.example;x=${quotes}` })?.host).toBeUndefined();
  expect(read(true, { "x-forwarded-host": `${"a,".repeat(20_000)}port.example` })?.host).toBeUndefined();
});

describe("the network that a call comes from", () => {
  const findNetwork = (headers: Readonly<Record<string, string>>, trust: TrustProxy = ["10.0.0.0/8"], peer = inner) =>
    callerNetwork(trust)({ peer: () => peer, header: (name) => headers[name] });

  it.each([
    ["192.0.2.1", "192.0.2.1"],
    [`192.0.2.7, 192.0.2.1, ${outer}`, "192.0.2.1"],
    ["192.0.2.1:4711", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["[2001:DB8::9]:4711", "32.1.13.184.0.0.0.0/64"],
    ["2001:db8:0:0:ffff::1", "32.1.13.184.0.0.0.0/64"],
    ["192.0.2.7, unknown", inner],
    ["", inner],
  ])("the network of a call behind `X-Forwarded-For: %s` is %s", (addresses, network) => {
    expect(findNetwork({ "x-forwarded-for": addresses })).toBe(network);
    expect(findNetwork({ "x-forwarded-for": addresses }, ["10.0.0.0/8"], stranger)).toBe(stranger);
  });

  it.each([
    [`for=192.0.2.7, for="192.0.2.1:80";proto=https;host="a.example"`, "192.0.2.1"],
    ['for=192.0.2.7;by="a, b, \\"c\\"", for="[2001:db8::9]"', "32.1.13.184.0.0.0.0/64"],
    // The caller's quote, left open, ends with that of the proxy.
    ['for=192.0.2.7;by=", for="[2001:db8::9]"', inner],
    ['for=192.0.2.7;by=", for=192.0.2.1;host="a.example";proto=https', inner],
    ['for=192.0.2.7;by="\\, for=192.0.2.1;host="a.example"', inner],
    [`for=192.0.2.1, by=${"x".repeat(2048)}`, inner],
  ])("the network of a call behind `Forwarded: %s` is %s", (forwarded, network) => {
    expect(findNetwork({ forwarded })).toBe(network);
  });

  it("the network of a call is the proxy where it cannot be known which header the proxy wrote", () => {
    const both = { "x-forwarded-for": "192.0.2.1", forwarded: "for=192.0.2.7, for=192.0.2.1" };
    expect(findNetwork(both)).toBe("192.0.2.1");
    expect(findNetwork({ ...both, "x-forwarded-for": "192.0.2.7" })).toBe(inner);
    expect(findNetwork({ ...both, forwarded: "for=192.0.2.7" })).toBe(inner);
    expect(findNetwork({ ...both, forwarded: 'for="192.0.2.7' }, true)).toBe(inner);
  });
});
