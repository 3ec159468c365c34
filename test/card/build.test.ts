import { toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { buildCard, namedInputModes, type RunningCapabilities } from "../../src/card/build.js";
import { CardError } from "../../src/card/check.js";
import type { MountAddress } from "../../src/card/mounts.js";
import type { CardOptions } from "../../src/card/options.js";
import { AgentCardSchema } from "../../src/protocol/model.js";
import { writeCard } from "../../src/version/v1.0/card.js";

const options: CardOptions = { name: "Port Planner 2", description: "Plans berths", version: "3.1.0" };
const mounted: readonly MountAddress[] = [
  { binding: "JSONRPC", url: "https://port.example/json-rpc", version: "1.0" },
  { binding: "GRPC", url: "port.example:443", version: "1.0", tenant: "north" },
];
const capabilities: RunningCapabilities = { streaming: true, pushNotifications: true, authentication: true };

const build = (more: Partial<CardOptions> = {}, running: Partial<RunningCapabilities> = {}) =>
  buildCard({ options: { ...options, ...more }, addresses: mounted, capabilities: { ...capabilities, ...running } });

it("a whole card is made of a name, a description and a version", () => {
  expect(writeCard(build())).toEqual({
    name: "Port Planner 2",
    description: "Plans berths",
    version: "3.1.0",
    supportedInterfaces: [
      { url: "https://port.example/json-rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: "port.example:443", protocolBinding: "GRPC", protocolVersion: "1.0", tenant: "north" },
    ],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [
      { id: "port-planner-2", name: "Port Planner 2", description: "Plans berths", tags: ["port", "planner", "2"] },
    ],
  });
});

it("the card of an agent whose name has no letters has a skill too", () => {
  expect(build({ name: "!!" }).skills[0]).toMatchObject({ id: "agent", tags: ["agent"] });
});

it("a card keeps everything that the author set", () => {
  const fields = {
    provider: { organization: "Port Authority", url: "https://port.example" },
    documentationUrl: "https://port.example/docs",
    iconUrl: "https://port.example/icon.svg",
    skills: [
      {
        id: "tug",
        name: "Tugs",
        description: "Orders tugs",
        tags: ["tug"],
        examples: ["One tug"],
        inputModes: ["text/csv"],
        outputModes: ["image/png"],
      },
    ],
    defaultInputModes: ["application/json"],
    defaultOutputModes: ["text/markdown"],
  };
  const extensions = [
    { uri: "urn:port:geo:v1", description: "Positions", required: true, params: { algs: ["ES256"] } },
  ];
  expect(writeCard(build({ ...fields, extensions }))).toMatchObject({ ...fields, capabilities: { extensions } });
});

it("a card does not change with the options that it was made of", () => {
  const params = { limit: 1 };
  const tags = ["tug"];
  const card = build({
    extensions: [{ uri: "urn:a:b", params }],
    skills: [{ id: "tug", name: "Tugs", description: "Orders tugs", tags }],
  });
  const before = toBinary(AgentCardSchema, card);
  params.limit = 2;
  tags.push("late");
  expect(toBinary(AgentCardSchema, card)).toEqual(before);
});

it.each([
  ["what runs", {}, {}, { streaming: true, pushNotifications: true }],
  ["nothing that does not run", {}, { pushNotifications: false }, { streaming: true, pushNotifications: false }],
  ["nothing that the author turned off", { capabilities: { streaming: false } }, {}, { streaming: false }],
  ["an extended card when there is one", { extended: {} }, {}, { extendedAgentCard: true }],
])("a card declares %s", (_, more, running, expected) => {
  expect(build(more, running).capabilities).toMatchObject(expected);
});

it.each([
  [
    "push that is off",
    { capabilities: { pushNotifications: true } },
    { pushNotifications: false },
    /pushNotifications is true, but .* `push`/,
  ],
  ["streams that no binding has", { capabilities: { streaming: true } }, { streaming: false }, /streaming is true/],
  ["an extended card for strangers", { extended: {} }, { authentication: false }, /card\.extended .* `authenticate`/],
])("a card refuses to declare %s", (_, more, running, message) => {
  expect(() => build(more, running)).toThrow(message);
});

it("a card reports all problems at once", () => {
  const broken = () =>
    buildCard({
      options: { ...options, name: "", capabilities: { pushNotifications: true } },
      addresses: [],
      capabilities: { ...capabilities, pushNotifications: false },
    });
  expect(broken).toThrow(CardError);
  expect(broken).toThrow(
    /3 problems:\n- card\.name .*\n- card\.capabilities\.pushNotifications .*\n- the agent is mounted on no binding/,
  );
});

const skill = { id: "a", name: "A", description: "A", tags: ["a"] };

it.each([
  ["none, when the author named none", { skills: [skill] }, undefined],
  ["those of the card", { defaultInputModes: ["text/csv"] }, ["text/csv"]],
  [
    "those of a skill beside the default",
    { skills: [{ ...skill, inputModes: ["text/csv"] }] },
    ["text/plain", "text/csv"],
  ],
])("a card knows the input modes to insist on: %s", (_, more, expected) => {
  expect(namedInputModes({ ...options, ...more })).toEqual(expected);
});
