import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TaskPushNotificationConfigSchema } from "../../src/protocol/model.js";
import { checkConfig } from "../../src/push/check.js";
import { createPolicy } from "../../src/push/policy.js";

const policy = createPolicy("public");
const url = "https://hooks.example/a2a?k=v";

function faultsOf(config: { url?: string; token?: string; authentication?: { scheme: string; credentials?: string } }) {
  return checkConfig(create(TaskPushNotificationConfigSchema, { url, ...config }), policy);
}

describe("the check of a push configuration", () => {
  it.each([
    "https://hooks.example",
    "http://hooks.example:8080/a/b",
    "HTTPS://HOOKS.EXAMPLE/",
    "https://hooks.example:1/",
    "https://hooks.example:65535/",
    "https://hooks.example/a@b:99999",
    "https://hooks.example?to=a@b",
    "https://bücher.example/",
    "https://[2001:4860:4860::8888]:443/x",
    "https://8.8.8.8/",
  ])("the check of a push configuration takes %s", (url) => {
    expect(faultsOf({ url })).toEqual([]);
  });

  it.each([
    ["", "absolute"],
    ["/hook", "absolute"],
    ["hooks.example/hook", "absolute"],
    ["//hooks.example/hook", "absolute"],
    ["https:hooks.example", "absolute"],
    ["ftp://hooks.example/", "absolute"],
    ["file:///etc/passwd", "absolute"],
    ["javascript:alert(1)", "absolute"],
    ["https://", "host"],
    ["https:///hook", "host"],
    ["https://:80/", "host"],
    ["https://?a", "host"],
    ["https://hooks.example:0/", "port"],
    ["https://hooks.example:65536/", "port"],
    ["https://hooks.example:123456789012345678901/", "port"],
    ["https://hooks.example:a/", "valid"],
    ["https://ho%00oks/", "valid"],
    ["https://[::1/", "valid"],
    ["https://user@hooks.example/", "user name"],
    ["https://user:word@hooks.example/", "user name"],
    ["https://@hooks.example/", "user name"],
    ["https://hooks.example/#part", "fragment"],
    ["https://hooks.example/#", "fragment"],
    [" https://hooks.example/", "absolute"],
    ["https://hooks.example/a b", "spaces"],
    ["https://hooks.example/\n", "spaces"],
    ["https://hooks\t.example/", "spaces"],
    ["https://hooks.example\\@10.0.0.1/", "backslashes"],
    ["https://localhost/", "does not call"],
    ["https://127.0.0.1/", "does not call"],
    ["https://[::ffff:10.0.0.1]/", "does not call"],
    ["https://0x0a.1/", "does not call"],
  ])("the check of a push configuration refuses %j for its %s", (url, why) => {
    const [fault, ...more] = faultsOf({ url });
    expect(fault).toEqual({ field: "url", description: expect.stringContaining(why) });
    expect(more).toEqual([]);
  });

  it.each([
    [{ token: "a\r\nX-Evil: 1" }, "token"],
    [{ token: "a\u0000" }, "token"],
    [{ token: "a\u007f" }, "token"],
    [{ token: "snow \u2603" }, "token"],
    [{ token: " a" }, "token"],
    [{ authentication: { scheme: "", credentials: "x" } }, "authentication.scheme"],
    [{ authentication: { scheme: "Bear er" } }, "authentication.scheme"],
    [{ authentication: { scheme: "Bearer\n" } }, "authentication.scheme"],
    [{ authentication: { scheme: "Bearer:" } }, "authentication.scheme"],
    [{ authentication: { scheme: "Bearer", credentials: "a\nb" } }, "authentication.credentials"],
    [{ authentication: { scheme: "Bearer", credentials: "\u{1f511}" } }, "authentication.credentials"],
    [{ authentication: { scheme: "Bearer", credentials: "a " } }, "authentication.credentials"],
  ])("the check of a push configuration refuses %j for %s", (config, field) => {
    expect(faultsOf(config).map((fault) => fault.field)).toEqual([field]);
  });

  it("the check of a push configuration takes what a header can carry", () => {
    expect(faultsOf({ token: "caf\u00e9 ~!", authentication: { scheme: "Basic", credentials: "YTpi==" } })).toEqual([]);
  });

  it("the check of a push configuration names all faults at once", () => {
    const faults = faultsOf({ url: "x", token: "\n", authentication: { scheme: "(", credentials: "\r" } });
    const fields = ["url", "token", "authentication.scheme", "authentication.credentials"];
    expect(faults.map(({ field }) => field)).toEqual(fields);
  });
});
