import type { JsonObject } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { cardReaders } from "../../src/version/detect-card.js";
import { beforeVersions, forBoth, oldest, threeTransports } from "./v0.3/card-examples.js";

const without = (json: JsonObject, ...names: string[]): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([name]) => !names.includes(name)));

// Requirements: IOP-6
it.each<[string, JsonObject, string]>([
  ["lists interfaces, beside older members", forBoth, "1.0"],
  ["lists interfaces alone", { supportedInterfaces: [{}] }, "1.0"],
  ["lists no interfaces, beside older members", { ...threeTransports, supportedInterfaces: [] }, "0.3"],
  ["says 0.3", threeTransports, "0.3"],
  ["says 0.3 and has members of 0.1", { ...threeTransports, authentication: { schemes: [] } }, "0.3"],
  ["says 1.0 in the older form", { ...threeTransports, protocolVersion: "1.0" }, "0.3"],
  ["names transports and no version", without(threeTransports, "protocolVersion"), "0.3"],
  ["says 0.2", { ...beforeVersions, protocolVersion: "0.2.6" }, "0.2"],
  ["says no version and has members of 0.2", beforeVersions, "0.2"],
  ["has members of 0.2 and authentication", { ...beforeVersions, authentication: {} }, "0.1"],
  ["has members of 0.2 and no modes", without(beforeVersions, "defaultInputModes"), "0.1"],
  ["has members of 0.2 and skills without tags", { ...beforeVersions, skills: [{ id: "s", description: "" }] }, "0.1"],
  ["is of 0.1", oldest, "0.1"],
  ["says 0.1", { ...threeTransports, protocolVersion: "0.1.0" }, "0.1"],
  ["has a place and nothing that speaks for any version", { url: "http://q", defaultInputModes: [] }, "0.1"],
  ["has no place at all", { name: "Q" }, "1.0"],
  ["lists interfaces in a wrong form", { supportedInterfaces: {} }, "1.0"],
])("a card that %s is read as such", (_, json, version) => {
  expect(cardReaders(json)).toEqual({ reader: version, secondReader: undefined });
});

it.each([[undefined], [null], ["card"], [[]]])("anything but a card goes to the newest version: %j", (json) => {
  expect(cardReaders(json).reader).toBe("1.0");
});

const named = { url: "http://q", supportedInterfaces: [{ url: "http://q" }] };

it.each<[string, JsonObject]>([
  ["requirements", { security: [{ key: [] }] }],
  ["schemes", { securitySchemes: { key: { type: "apiKey" } } }],
  ["that there is an extended card", { supportsAuthenticatedExtendedCard: true }],
])("a card of 1.0 with %s in the older form only is read in both", (_, members) => {
  expect(cardReaders({ ...named, ...members })).toEqual({ reader: "1.0", secondReader: "0.3" });
});
