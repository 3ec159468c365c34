import { describe, expect, it } from "vitest";
import { type CallBinding, targetOf } from "../../src/cli/target.js";

const agents: readonly (readonly [address: string, wanted: CallBinding | undefined])[] = [
  ["http://localhost:80", undefined],
  ["https://agent.example", "http-json"],
  ["http://[::1]:8080", "json-rpc"],
  ["http://agent.example", "grpc"],
  ["https://agent.example/.well-known/agent-card.json", undefined],
  ["https://agent.example/agents/7/card.json?x=1", "grpc"],
];

const interfaces: readonly (readonly [address: string, wanted: CallBinding | undefined, binding: CallBinding])[] = [
  ["http://agent.example/", undefined, "json-rpc"],
  ["http://agent.example/a2a", undefined, "json-rpc"],
  ["http://agent.example/a2a", "http-json", "http-json"],
  ["http://agent.example/a2a", "grpc", "grpc"],
  ["http://agent.example?x=1", undefined, "json-rpc"],
  ["http://agent.example/base/json-rpc", undefined, "json-rpc"],
  ["http://agent.example/http-json/", undefined, "http-json"],
  ["127.0.0.1:41241", undefined, "grpc"],
  ["[::1]:41241", undefined, "grpc"],
  ["grpcs://agent.example:443", undefined, "grpc"],
];

describe("the target of a call", () => {
  it.each(agents)("%s is an agent, whose card is read, over %s", (address, binding) => {
    expect(targetOf(address, binding)).toEqual({ kind: "agent", url: address, binding });
  });

  it.each(interfaces)("%s over %s is an interface of %s", (address, wanted, binding) => {
    expect(targetOf(address, wanted)).toEqual({ kind: "interface", binding, address });
  });

  it.each(["", "agent.example", "ftp://agent.example", "http://", "agent.example:80/json-rpc", "a b:1"])(
    "is refused when it is no address: %j",
    (address) => {
      expect(() => targetOf(address)).toThrow("is neither an http(s) URL nor the host:port of gRPC");
    },
  );

  it.each(["json-rpc", "http-json"] as const)("of %s has to be a URL", (binding) => {
    expect(() => targetOf("127.0.0.1:41241", binding)).toThrow(`${binding} needs an http(s) URL`);
  });
});
