import { describe, expect, it } from "vitest";
import { parseTarget } from "../../src/cli/target.js";
import type { Binding } from "../../src/protocol/bindings.js";

const agents: readonly (readonly [address: string, wanted: Binding | undefined])[] = [
  ["http://localhost:80", undefined],
  ["https://agent.example", "HTTP+JSON"],
  ["http://[::1]:8080", "JSONRPC"],
  ["http://agent.example", "GRPC"],
  ["https://agent.example/.well-known/agent-card.json", undefined],
  ["https://agent.example/agents/7/card.json?x=1", "GRPC"],
];

const interfaces: readonly (readonly [address: string, wanted: Binding | undefined, binding: Binding])[] = [
  ["http://agent.example/", undefined, "JSONRPC"],
  ["http://agent.example/a2a", undefined, "JSONRPC"],
  ["http://agent.example/a2a", "HTTP+JSON", "HTTP+JSON"],
  ["http://agent.example/a2a", "GRPC", "GRPC"],
  ["http://agent.example/a2a", "CONNECT", "CONNECT"],
  ["http://agent.example?x=1", undefined, "JSONRPC"],
  ["http://agent.example/base/json-rpc", undefined, "JSONRPC"],
  ["http://agent.example/http-json/", undefined, "HTTP+JSON"],
  ["127.0.0.1:41241", undefined, "GRPC"],
  ["[::1]:41241", undefined, "GRPC"],
  ["grpcs://agent.example:443", undefined, "GRPC"],
];

describe("the target of a call", () => {
  it.each(agents)("the target %s is an agent, whose card is read, over %s", (address, binding) => {
    expect(parseTarget(address, binding)).toEqual({ kind: "agent", url: address, binding });
  });

  it.each(interfaces)("the target %s over %s is an interface of %s", (address, wanted, binding) => {
    expect(parseTarget(address, wanted)).toEqual({ kind: "interface", binding, address });
  });

  it.each(["", "agent.example", "ftp://agent.example", "http://", "agent.example:80/json-rpc", "a b:1"])(
    "the target of a call is refused when it is no address: %j",
    (address) => {
      expect(() => parseTarget(address)).toThrow("is neither an http(s) URL nor the host:port of gRPC");
    },
  );

  it.each(["JSONRPC", "HTTP+JSON", "CONNECT"] as const)("the target of a call of %s has to be a URL", (binding) => {
    expect(() => parseTarget("127.0.0.1:41241", binding)).toThrow(`${binding} needs an http(s) URL`);
  });
});
