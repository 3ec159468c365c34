import { expect, it } from "vitest";
import { buildCard } from "../../src/card/build.js";
import { extendedCard } from "../../src/card/extended.js";
import { writeCard } from "../../src/version/v1.0/card.js";

const skill = { id: "berth", name: "Berths", description: "Finds berths", tags: ["berth"] };

const base = buildCard({
  options: {
    name: "Port Planner",
    description: "Plans berths",
    version: "3.1.0",
    provider: { organization: "Port Authority", url: "https://port.example" },
    skills: [skill],
    extensions: [{ uri: "urn:port:geo:v1" }],
    extended: {},
  },
  addresses: [{ binding: "JSONRPC", url: "https://port.example/json-rpc", version: "1.0" }],
  capabilities: { streaming: true, pushNotifications: false, authentication: true },
});

it("the extended card is the public card when there is nothing more", () => {
  expect(writeCard(extendedCard(base, {}))).toEqual(writeCard(base));
});

it("the extended card adds skills and extensions, and replaces everything else", () => {
  const tug = { ...skill, id: "tug", name: "Tugs" };
  const card = extendedCard(base, {
    description: "Plans berths and tugs",
    version: "3.1.0+staff",
    documentationUrl: "https://port.example/staff",
    defaultInputModes: ["text/csv"],
    skills: [tug],
    extensions: [{ uri: "urn:port:staff:v1", params: { limit: 5 } }],
  });
  expect(writeCard(card)).toEqual({
    ...writeCard(base),
    description: "Plans berths and tugs",
    version: "3.1.0+staff",
    documentationUrl: "https://port.example/staff",
    defaultInputModes: ["text/csv"],
    skills: [skill, tug],
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: true,
      extensions: [{ uri: "urn:port:geo:v1" }, { uri: "urn:port:staff:v1", params: { limit: 5 } }],
    },
  });
});

it("the extended card puts a skill and an extension with a known name in the place of the old", () => {
  const { skills, capabilities } = extendedCard(base, {
    skills: [{ ...skill, name: "All berths" }],
    extensions: [{ uri: "urn:port:geo:v1", required: true }],
  });
  expect(skills.map(({ name }) => name)).toEqual(["All berths"]);
  expect(capabilities?.extensions.map(({ required }) => required)).toEqual([true]);
});

it("the extended card leaves the public card as it was", () => {
  const before = writeCard(base);
  const card = extendedCard(base, { skills: [{ ...skill, id: "tug" }] });
  card.skills[0]?.tags.push("changed");
  card.capabilities?.extensions.pop();
  expect(writeCard(base)).toEqual(before);
});

it("the extended card refuses additions that contradict themselves", () => {
  expect(() => extendedCard(base, { skills: [{ ...skill, tags: [] }] })).toThrow(
    /card\.extended\.skills\[0\]\.tags is empty/,
  );
});
