import { beforeAll, describe, expect, it } from "vitest";
import { bindings } from "../../src/protocol/bindings.js";
import type { HttpJsonAdapter, JsonRpcAdapter } from "../../src/version/codec.js";
import { adaptersFor, declaredVersion, listVersions } from "../../src/version/detect.js";
import { versionEntries, versionTable } from "../../src/version/versions.js";

// Tests which adapter takes a call, using the real adapters of every version.

const rpcAdapters: JsonRpcAdapter[] = [];
const httpAdapters: HttpJsonAdapter[] = [];
beforeAll(async () => {
  for (const entry of versionTable) {
    const { jsonRpc, httpJson } = await entry.load();
    if (jsonRpc !== undefined) rpcAdapters.push(jsonRpc);
    if (httpJson !== undefined) httpAdapters.push(httpJson);
  }
});

const all = ["1.0", "0.3", "0.2", "0.1"];

describe("a declared version", () => {
  // Requirements: IOP-10
  it.each([
    ["1.0", "1.0"],
    ["1.0.1", "1.0"],
    ["0.3.0", "0.3"],
    ["0.2.6", "0.2"],
    [" 0.3 ", "0.3"],
    // The first value of a repeated header counts.
    ["1.0, 0.3", "1.0"],
    ["", undefined],
    ["  ", undefined],
    [undefined, undefined],
  ])("the declared version %j is %s", (value, version) => {
    expect(declaredVersion(value, all)).toBe(version);
  });

  it.each(["0.5", "2.0", "0.4.0", "1", "v1.0", "one", "1.0.0.0", "-1.0", "9".repeat(500)])(
    "the declared version %s is refused with the requested and the served versions",
    (value) => {
      expect(() => declaredVersion(value, all)).toThrow(
        expect.objectContaining({
          code: "versionNotSupported",
          metadata: { requested: value.slice(0, 32), supported: "1.0,0.3,0.2,0.1" },
        }),
      );
    },
  );

  it("a declared version is refused when it exists and is switched off", () => {
    expect(() => declaredVersion("0.3", ["1.0"])).toThrow("unsupported A2A version 0.3");
  });
});

/** Returns the versions whose adapters may take a method, best first, or the error code if none may. */
function takers(method: string, header: string | undefined, strict: boolean): string {
  try {
    const adapters = adaptersFor({ adapters: rpcAdapters, strict }, declaredVersion(header, all), ({ methods }) =>
      methods.has(method),
    );
    return adapters.length === 0 ? "methodNotFound" : listVersions(adapters).join(" ");
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

describe("a JSON-RPC method is taken by", () => {
  // Requirements: IOP-1
  it.each<[method: string, header: string | undefined, lenient: string, strict: string]>([
    ["SendMessage", undefined, "1.0", "versionNotSupported"],
    ["SendMessage", "1.0", "1.0", "1.0"],
    ["SendMessage", "1.0.2", "1.0", "1.0"],
    ["SendMessage", "0.3", "1.0", "versionNotSupported"],
    ["ListTasks", undefined, "1.0", "versionNotSupported"],
    ["message/send", undefined, "0.3 0.2", "0.3 0.2"],
    ["message/send", "0.3", "0.3", "0.3"],
    ["message/send", "0.3.0", "0.3", "0.3"],
    ["message/send", "0.2.6", "0.2", "0.2"],
    ["message/send", "1.0", "0.3 0.2", "methodNotFound"],
    ["message/send", "0.1", "0.3 0.2", "methodNotFound"],
    ["tasks/get", undefined, "0.3 0.2 0.1", "0.3 0.2 0.1"],
    ["tasks/get", "0.3", "0.3", "0.3"],
    ["tasks/get", "0.1", "0.1", "0.1"],
    ["tasks/get", "1.0", "0.3 0.2 0.1", "methodNotFound"],
    ["tasks/send", undefined, "0.1", "0.1"],
    ["tasks/send", "0.3", "0.1", "methodNotFound"],
    ["tasks/sendSubscribe", undefined, "0.1", "0.1"],
    ["tasks/pushNotification/set", undefined, "0.1", "0.1"],
    ["tasks/pushNotificationConfig/delete", undefined, "0.3 0.2", "0.3 0.2"],
    // Late callers of 0.1 already use the newer name.
    ["tasks/pushNotificationConfig/set", undefined, "0.3 0.2 0.1", "0.3 0.2 0.1"],
    ["agent/getAuthenticatedExtendedCard", undefined, "0.3", "0.3"],
    ["nobody/knows", undefined, "methodNotFound", "methodNotFound"],
    ["nobody/knows", "1.0", "methodNotFound", "methodNotFound"],
    ["sendmessage", undefined, "methodNotFound", "methodNotFound"],
    ["message/send", "0.5", "versionNotSupported", "versionNotSupported"],
    ["SendMessage", "2.0", "versionNotSupported", "versionNotSupported"],
  ])(
    "the JSON-RPC method %s with A2A-Version %s is taken by: %s, in strict mode %s",
    (method, header, lenient, strict) => {
      expect([takers(method, header, false), takers(method, header, true)]).toEqual([lenient, strict]);
    },
  );
});

describe("of adapters that accept a call", () => {
  const knowing = (version: string, isImplied: boolean) => ({ version, isImplied });
  const adapters = [knowing("1.0", false), knowing("0.3", true)];
  const versions = (declared: string | undefined, strict: boolean, knows: (version: string) => boolean = () => true) =>
    listVersions(adaptersFor({ adapters, strict }, declared, ({ version }) => knows(version)));

  it("the newest adapter takes a call without a version first, and none takes it if callers must declare one", () => {
    expect(versions(undefined, false)).toEqual(["1.0", "0.3"]);
    expect(versions(undefined, true)).toEqual(["0.3"]);
  });

  it.each([false, true])("the adapter of the declared version takes a call, strict: %s", (strict) => {
    expect(versions("0.3", strict)).toEqual(["0.3"]);
    expect(versions("1.0", strict)).toEqual(["1.0"]);
  });

  it("no adapter accepts an unknown call", () => {
    expect(versions("0.3", false, () => false)).toEqual([]);
    expect(versions("0.3", true, () => false)).toEqual([]);
  });
});

describe("the table of versions", () => {
  it.each([
    [
      ["0.3", "1.0"],
      ["1.0", "0.3"],
    ],
    [["0.1"], ["0.1"]],
    [["0.2", "0.2"], ["0.2"]],
    [undefined, all],
  ])("the table of versions gives %j newest first: %j", (names, wanted) => {
    expect(versionEntries(names).map(({ name }) => name)).toEqual(wanted);
  });

  it("the table of versions knows no other names", () => {
    expect(() => versionEntries(["0.3", "0.4"])).toThrow(
      new TypeError('versions: "0.4" is not one of 1.0, 0.3, 0.2, 0.1'),
    );
    expect(() => versionEntries(["0.3.0"])).toThrow(TypeError);
    expect(() => versionEntries([])).toThrow(TypeError);
  });

  it.each(versionTable)(
    "the table of versions loads $name, which has exactly its listed adapters",
    async ({ name, load, adapters }) => {
      const version = await load();
      expect(version.name).toBe(name);
      for (const { adapter: kind } of bindings) {
        const adapter = version[kind];
        expect([kind, adapter !== undefined]).toEqual([kind, adapters.includes(kind)]);
        if (adapter !== undefined) expect(adapter.version).toBe(name);
      }
    },
  );
});
