import { expect, it } from "vitest";
import { addressProblems } from "../../src/card/check.js";

const rpc = { url: "http://p/rpc", transport: "JSONRPC" };
const rest = { url: "http://p/rest", transport: "HTTP+JSON" };
const grpc = { url: "http://p", transport: "GRPC" };
const own = { url: "http://p", transport: "urn:port:own" };
const main = { url: rpc.url, preferredTransport: "JSONRPC" };

it("the check of addresses finds nothing wrong with places that each have their transport", () => {
  expect(addressProblems("0.3", { ...main, additionalInterfaces: [rpc, rest, grpc, own, rpc] })).toEqual([]);
});

it("the check of addresses accepts a card without interfaces", () => {
  expect(addressProblems("1.0", { supportedInterfaces: [] })).toEqual([]);
});

// Requirements: V03-CARD-8
it.each([
  [
    "a main place of another transport",
    { ...main, preferredTransport: "GRPC", additionalInterfaces: [rpc] },
    "the card of 0.3 prefers GRPC at http://p/rpc, where it lists JSONRPC",
  ],
  [
    "a main place that is not listed",
    { ...main, additionalInterfaces: [rest] },
    "the card of 0.3 prefers JSONRPC at http://p/rpc, where it lists nothing",
  ],
  [
    "two transports at one address",
    { ...main, additionalInterfaces: [rpc, { ...rest, url: rpc.url }] },
    "the card of 0.3 lists http://p/rpc as JSONRPC and as HTTP+JSON: give each an address of its own",
  ],
  [
    "no transport that every reader knows",
    { url: own.url, preferredTransport: own.transport, additionalInterfaces: [own] },
    "the card of 0.3 lists none of JSONRPC, GRPC, HTTP+JSON: mount one, or leave 0.3 out of the versions",
  ],
])("the check of addresses finds %s", (_, card, problem) => {
  expect(addressProblems("0.3", card)).toEqual([problem]);
});
