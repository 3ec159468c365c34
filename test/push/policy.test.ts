import { describe, expect, it } from "vitest";
import { createPolicy, type PushAllow } from "../../src/push/policy.js";

const inside = [
  "10.0.0.1",
  "172.16.9.9",
  "192.168.1.1",
  "100.64.0.1",
  "169.254.169.254",
  "0.0.0.0",
  "224.0.0.1",
  "255.255.255.255",
  "192.0.2.7",
  "198.18.0.1",
  "[fe80::1]",
  "[fd00::1]",
  "[fec0::1]",
  "[::]",
  "[ff02::1]",
  "[64:ff9b::a00:1]",
  "[2002:a00:1::]",
  "[::ffff:10.0.0.1]",
  "[2001:db8::1]",
  "[5f00::1]",
];
const loopback = ["127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"];
const internet = ["8.8.8.8", "193.0.6.139", "[2001:4860:4860::8888]", "[::ffff:8.8.8.8]"];

const hostsOf = (host: string): string => new URL(`http://${host}`).hostname;

describe("the policy of webhook addresses", () => {
  // Requirements: V1-PUSH-8
  it.each([...inside, ...loopback])("the policy of webhook addresses forbids %s when set to public", (host) => {
    expect(createPolicy("public").host(hostsOf(host))).toBe("forbidden");
  });

  it.each(internet)("the policy of webhook addresses allows %s when set to public", (host) => {
    expect(createPolicy("public").host(hostsOf(host))).toBe("allowed");
  });

  it.each(["localhost", "localhost.", "LOCALHOST", "a.localhost", "0x7f.1", "2130706433", "127.1", "[0:0::1]"])(
    "the policy of webhook addresses sees through %s as a spelling of this machine",
    (host) => {
      expect(createPolicy("public").host(hostsOf(host))).toBe("forbidden");
    },
  );

  it.each(loopback)("the policy of webhook addresses allows %s when set to loopback", (host) => {
    expect(createPolicy("loopback").host(hostsOf(host))).toBe("allowed");
  });

  it.each([...inside, ...internet])("the policy of webhook addresses forbids %s when set to loopback", (host) => {
    expect(createPolicy("loopback").host(hostsOf(host))).toBe("forbidden");
  });

  it.each<[PushAllow, string]>([
    ["public", "hooks.example"],
    ["loopback", "hooks.example"],
    ["loopback", "localhost"],
    [["10.0.0.0/8"], "hooks.example"],
  ])("the policy of webhook addresses with %j asks for the addresses of %s", (allow, host) => {
    expect(createPolicy(allow).host(host)).toBe("ask");
  });

  it.each<[string, string, boolean]>([
    ["hooks.example", "hooks.example", true],
    ["hooks.example", "hooks.example.", true],
    ["Hooks.Example", "hooks.example", true],
    ["hooks.example", "a.hooks.example", false],
    ["*.hooks.example", "a.hooks.example", true],
    ["*.hooks.example", "a.b.hooks.example", true],
    ["*.hooks.example", "hooks.example", false],
    ["*.hooks.example", "badhooks.example", false],
    ["bücher.example", "xn--bcher-kva.example", true],
    ["10.1.0.0/16", "10.1.2.3", true],
    ["10.1.0.0/16", "10.2.2.3", false],
    ["10.1.0.0/16", "[::ffff:10.1.2.3]", true],
    ["fd00::/8", "[fd12::1]", true],
    ["fd00::/8", "[fe80::1]", false],
    ["10.1.2.3", "10.1.2.3", true],
    ["10.1.2.3", "10.1.2.4", false],
    ["::1", "[::1]", true],
  ])(
    "the policy of webhook addresses with %s in its list decides whether %s is allowed: %s",
    (entry, host, allowed) => {
      expect(createPolicy([entry]).host(hostsOf(host))).toBe(allowed ? "allowed" : "forbidden");
    },
  );

  it("the policy of webhook addresses judges the addresses of a name by the blocks of its list", () => {
    const policy = createPolicy(["hooks.example", "10.0.0.0/8"]);
    expect(["10.9.9.9", "11.9.9.9", "::1", "nonsense"].map(policy.address)).toEqual([true, false, false, false]);
  });

  it.each([
    [[]],
    ["private"],
    [["public"]],
    [["*"]],
    [["http://hooks.example"]],
    [["hooks.example:8080"]],
    [["10.0.0.0/33"]],
    [["10.0.0/8"]],
    [["0x7f.1"]],
    [[""]],
    [[7]],
    [undefined],
  ])("the policy of webhook addresses refuses %j at startup", (allow) => {
    expect(() => createPolicy(allow as PushAllow)).toThrow(TypeError);
  });
});
