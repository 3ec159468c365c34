import { describe, expect, it } from "vitest";
import { type CallBinding, targetOf } from "../../src/cli/target.js";

const cases: readonly [address: string, wanted: CallBinding | undefined, binding: CallBinding, called: string][] = [
  ["http://localhost:80", undefined, "json-rpc", "http://localhost:80/json-rpc"],
  ["https://agent.example", "http-json", "http-json", "https://agent.example/http-json"],
  ["http://[::1]:8080", "json-rpc", "json-rpc", "http://[::1]:8080/json-rpc"],
  ["http://agent.example/", undefined, "json-rpc", "http://agent.example/"],
  ["http://agent.example/a2a", undefined, "json-rpc", "http://agent.example/a2a"],
  ["http://agent.example/a2a", "http-json", "http-json", "http://agent.example/a2a"],
  ["http://agent.example?x=1", undefined, "json-rpc", "http://agent.example?x=1"],
  ["http://agent.example/base/json-rpc", undefined, "json-rpc", "http://agent.example/base/json-rpc"],
  ["http://agent.example/http-json/", undefined, "http-json", "http://agent.example/http-json/"],
  ["127.0.0.1:41241", undefined, "grpc", "127.0.0.1:41241"],
  ["[::1]:41241", undefined, "grpc", "[::1]:41241"],
  ["grpcs://agent.example:443", undefined, "grpc", "grpcs://agent.example:443"],
  ["http://agent.example", "grpc", "grpc", "http://agent.example"],
];

describe("the target of a call", () => {
  it.each(cases)("of %s over %s is %s at %s", (address, wanted, binding, called) => {
    expect(targetOf(address, wanted)).toEqual({ binding, address: called });
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
