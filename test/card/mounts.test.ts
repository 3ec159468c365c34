import { expect, it } from "vitest";
import { addressesAt, createMounts } from "../../src/card/mounts.js";
import type { Version } from "../../src/version/codec.js";
import { v1 } from "../../src/version/v1.0/v1.js";

/** A version with JSON-RPC alone, like the oldest ones. */
const oldest: Version = { ...v1, name: "0.1", httpJson: undefined, grpc: undefined };

it("the interfaces of a card list each version with the bindings that it has, in the order asked for", () => {
  expect(createMounts(["GRPC", "JSONRPC", "HTTP+JSON"], [v1, oldest])).toEqual([
    { binding: "GRPC", version: "1.0", path: "" },
    { binding: "JSONRPC", version: "1.0", path: "/json-rpc" },
    { binding: "HTTP+JSON", version: "1.0", path: "/http-json" },
    { binding: "JSONRPC", version: "0.1", path: "/json-rpc" },
  ]);
});

it("the interfaces of a card reach HTTP bindings at a path below the base, and gRPC at a host and a port", () => {
  const location = { base: "https://port.example/agent", grpc: "port.example:443" };
  const mounted = addressesAt(createMounts(["JSONRPC", "GRPC", "CONNECT"], [v1]), location);
  expect(mounted.map(({ url }) => url)).toEqual([
    "https://port.example/agent/json-rpc",
    "port.example:443",
    "https://port.example/agent",
  ]);
});
