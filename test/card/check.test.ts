import { expect, it } from "vitest";
import { additionProblems, CardError, cardProblems, interfaceProblems } from "../../src/card/check.js";
import type { MountAddress } from "../../src/card/mounts.js";

const card = { name: "Port Planner", description: "Plans berths", version: "3.1.0" };
const skill = { id: "berth", name: "Berths", description: "Finds free berths", tags: ["berth"] };

it("the check of a card finds nothing wrong with a name, a description and a version", () => {
  expect(cardProblems(card)).toEqual([]);
});

it("the check of a card finds no problem in a complete card", () => {
  const full = {
    ...card,
    provider: { organization: "Port Authority", url: "https://port.example" },
    documentationUrl: "https://port.example/docs",
    iconUrl: "data:image/svg+xml,%3Csvg%3E",
    skills: [
      {
        ...skill,
        examples: ["A berth for 190 m"],
        inputModes: ["text/plain; charset=utf-8"],
        outputModes: ["image/*"],
      },
    ],
    defaultInputModes: ["text/plain", "application/vnd.port+json;v=1"],
    defaultOutputModes: ["text/markdown"],
    extensions: [
      { uri: "urn:port:geo:v1", description: "Positions", required: true, params: { algs: ["ES256"], n: null } },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    extended: { skills: [{ ...skill, id: "tug" }] },
    cacheMaxAgeSeconds: 0,
  };
  expect(cardProblems(full)).toEqual([]);
});

it.each([
  ["no object", 7, "card must be an object, not a value of type number"],
  ["a missing name", { ...card, name: undefined }, "card.name is missing: give the agent a name to show"],
  ["a blank name", { ...card, name: " " }, "card.name is empty"],
  ["a version that is a number", { ...card, version: 1 }, "card.version must be a string, not a value of type number"],
  ["half a surrogate pair", { ...card, description: "\ud800" }, "card.description holds half a surrogate pair"],
  ["a skill without tags", { ...card, skills: [{ ...skill, tags: undefined }] }, "card.skills[0].tags is missing"],
  ["a skill with no tag", { ...card, skills: [{ ...skill, tags: [] }] }, "card.skills[0].tags is empty"],
  ["a skill that is null", { ...card, skills: [null] }, "card.skills[0] must be an object, not null"],
  ["an empty list of skills", { ...card, skills: [] }, "card.skills is empty"],
  ["two skills of one id", { ...card, skills: [skill, skill] }, 'card.skills[1] repeats "berth" of card.skills[0]'],
  [
    "a mode that is no media type",
    { ...card, defaultInputModes: ["text"] },
    'card.defaultInputModes[0] must be a media type such as "text/plain", not "text"',
  ],
  [
    "a mode with a line break",
    { ...card, defaultOutputModes: ["text/plain\r\nx"] },
    "card.defaultOutputModes[0] must be a media type",
  ],
  [
    "a mode of a skill",
    { ...card, skills: [{ ...skill, outputModes: ["/json"] }] },
    "card.skills[0].outputModes[0] must be a media type",
  ],
  ["half a provider", { ...card, provider: { organization: "Port" } }, "card.provider.url is missing"],
  [
    "a relative URL",
    { ...card, documentationUrl: "/docs" },
    'card.documentationUrl must be an absolute URL (https, http), not "/docs"',
  ],
  [
    "a URL of another scheme",
    { ...card, documentationUrl: "javascript:alert(1)" },
    "card.documentationUrl must be an absolute URL",
  ],
  [
    "credentials in a URL",
    { ...card, iconUrl: "https://me:secret@port.example/i" },
    "card.iconUrl must not hold credentials",
  ],
  ["an extension without URI", { ...card, extensions: [{ description: "x" }] }, "card.extensions[0].uri is missing"],
  [
    "an extension whose URI has a comma",
    { ...card, extensions: [{ uri: "urn:a,b" }] },
    "card.extensions[0].uri must be an absolute URI without spaces and commas",
  ],
  [
    "two extensions of one URI",
    { ...card, extensions: [{ uri: "urn:a:b" }, { uri: "urn:a:b" }] },
    'card.extensions[1] repeats "urn:a:b" of card.extensions[0]',
  ],
  [
    "params that are no JSON",
    { ...card, extensions: [{ uri: "urn:a:b", params: { at: new Date(0) } }] },
    "card.extensions[0].params.at must be JSON",
  ],
  [
    "params that are infinite",
    { ...card, extensions: [{ uri: "urn:a:b", params: { at: [1 / 0] } }] },
    "card.extensions[0].params.at[0] must be JSON",
  ],
  [
    "interfaces of one's own",
    { ...card, url: "https://port.example" },
    "card.url cannot be given: it is derived from publicUrl and the mounted bindings",
  ],
  ["an unknown member", { ...card, desciption: "x" }, "card.desciption cannot be given: did you mean description?"],
  ["a member of Object.prototype", { ...card, toString: "x" }, "card.toString cannot be given: take it out"],
  [
    "a wish for extensions",
    { ...card, capabilities: { extensions: [] } },
    "card.capabilities.extensions cannot be given: give them as card.extensions",
  ],
  [
    "an extended card that contradicts itself",
    { ...card, extended: { skills: [{ id: "x" }] } },
    "card.extended.skills[0].name is missing",
  ],
  [
    "a negative age",
    { ...card, cacheMaxAgeSeconds: -1 },
    "card.cacheMaxAgeSeconds must be a whole number from 0 to 31536000, not -1",
  ],
])("the check of a card says what to change about %s", (_, options, problem) => {
  expect(cardProblems(options)).toContainEqual(expect.stringContaining(problem));
});

it("the check of a card terminates on circular params", () => {
  const params: Record<string, unknown> = {};
  params["left"] = params;
  params["right"] = params;
  expect(cardProblems({ ...card, extensions: [{ uri: "urn:a:b", params }] })).toEqual([
    "card.extensions[0].params.left holds itself",
    "card.extensions[0].params.right holds itself",
  ]);
});

it("the check of a card checks a hostile media type in no time", () => {
  const mode = `a/b${" ;a=a".repeat(5_000)};`;
  expect(cardProblems({ ...card, defaultInputModes: [mode] })).toHaveLength(1);
});

it("the check of a card asks an extended card for nothing that is in the public one", () => {
  expect(additionProblems({})).toEqual([]);
  expect(additionProblems({ capabilities: {} })).toHaveLength(1);
});

const rpc: MountAddress = { binding: "JSONRPC", url: "https://port.example/json-rpc", version: "1.0" };

// Requirements: V03-CARD-12
it.each([
  ["no interface", [], "the agent is mounted on no binding: mount at least one"],
  [
    "a relative address",
    [{ ...rpc, url: "/json-rpc" }],
    'the interface JSONRPC 1.0 needs an absolute URL, not "/json-rpc"',
  ],
  ["gRPC with a scheme", [{ ...rpc, binding: "GRPC" }], "the address of the interface GRPC 1.0 must be host:port"],
  [
    "gRPC at no port",
    [{ ...rpc, binding: "GRPC", url: "port.example:70000" }],
    "the address of the interface GRPC 1.0 must be host:port",
  ],
  ["a patch version", [{ ...rpc, version: "1.0.1" }], "needs a version of the form Major.Minor"],
  ["no binding", [{ ...rpc, binding: "" }], "needs the name of its binding"],
  ["one interface twice", [rpc, rpc], "the interface JSONRPC 1.0 is mounted twice at https://port.example/json-rpc"],
])("the check of a card finds %s", (_, mounted, problem) => {
  expect(interfaceProblems(mounted)).toContainEqual(expect.stringContaining(problem));
});

it("the check of a card takes one address for two versions, and one interface for two tenants", () => {
  expect(interfaceProblems([rpc, { ...rpc, version: "0.3" }, { ...rpc, tenant: "north" }])).toEqual([]);
});

it("the check of a card writes one problem on one line, and several as a list", () => {
  expect(new CardError(["a"]).message).toBe("a");
  expect(new CardError(["a", "b"]).message).toBe("2 problems:\n- a\n- b");
});
