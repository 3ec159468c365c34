import { describe, expect, it } from "vitest";
import { formatExtensions, parseExtensions, parseVersion } from "../../src/protocol/service-parameters.js";

describe("a list of extensions", () => {
  it.each<[string | undefined, readonly string[]]>([
    [undefined, []],
    ["", []],
    [" , ,", []],
    ["urn:a", ["urn:a"]],
    [" urn:a ,urn:b,\turn:c", ["urn:a", "urn:b", "urn:c"]],
    ["urn:b,urn:a,urn:b", ["urn:b", "urn:a"]],
    ["urn:a,URN:A", ["urn:a", "URN:A"]],
  ])("the list of extensions %j names %j", (value, uris) => {
    expect(parseExtensions(value)).toEqual(uris);
  });

  it("a list of extensions is read as it was written", () => {
    const uris = ["https://x.example/ext/a/v1", "urn:b"];
    expect(parseExtensions(formatExtensions(uris))).toEqual(uris);
    expect(formatExtensions([])).toBe("");
  });
});

describe("a version", () => {
  it.each<[string, string | undefined]>([
    ["1.0", "1.0"],
    [" 1.0 ", "1.0"],
    ["1.0.3", "1.0"],
    ["0.3.99", "0.3"],
    ["12.34", "12.34"],
    ["01.0", "01.0"],
    ["", undefined],
    ["1", undefined],
    ["1.", undefined],
    [".1", undefined],
    ["1.0.", undefined],
    ["1.0.0.0", undefined],
    ["1.0-rc", undefined],
    ["v1.0", undefined],
    ["1,0", undefined],
    ["-1.0", undefined],
    ["99999.0", undefined],
    ["1.0\n2.0", undefined],
  ])("the version %j is read as %j", (value, version) => {
    expect(parseVersion(value)).toBe(version);
  });
});
