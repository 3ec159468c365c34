import { expect, it } from "vitest";
import { writeCard } from "../../../src/version/v1.0/card.js";
import { v1 } from "../../../src/version/v1.0/v1.js";

const { readCard } = v1;

const https = "https://port.example";

const full = {
  name: "Port Planner",
  description: "Plans berths, pilots and tugs",
  version: "3.1.0",
  supportedInterfaces: [
    { url: `${https}/rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: "grpc.port.example:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
    { url: `${https}/api`, protocolBinding: "HTTP+JSON", tenant: "north", protocolVersion: "1.0" },
  ],
  provider: { organization: "Port Authority", url: https },
  documentationUrl: `${https}/docs`,
  iconUrl: "",
  capabilities: {
    streaming: false,
    extensions: [{ uri: `${https}/ext/v1`, required: true, params: { algs: ["ES256"], none: null } }],
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: "header", name: "X-Port-Key" } },
    cert: { mtlsSecurityScheme: {} },
    m2m: {
      oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: `${https}/t`, scopes: { read: "Read" } } } },
    },
  },
  securityRequirements: [{ schemes: { m2m: { list: ["read"] } } }, { schemes: { key: {}, cert: {} } }],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: [],
  skills: [{ id: "tug", name: "Tugs", description: "", tags: [], securityRequirements: [{}] }],
  signatures: [{ protected: "eyJhbGciOiJFUzI1NiJ9", signature: "c2ln", header: { note: "x" } }],
};

it("a 1.0 card is written as it was read, required members also when they are empty", () => {
  expect(writeCard(readCard(full))).toEqual(full);
});

const smallest = { supportedInterfaces: [{ url: "http://a.example", protocolBinding: "JSONRPC" }] };

it("a 1.0 card's interface that names no version is read as one of this version", () => {
  expect(readCard(smallest).supportedInterfaces[0]?.protocolVersion).toBe("1.0");
});

it("a 1.0 card with broken members is read as far as it can be", () => {
  const broken = {
    ...smallest,
    name: 7,
    capabilities: { streaming: "yes", pushNotifications: true },
    skills: "none",
    news: 1,
  };
  const card = readCard(broken);
  expect(card).toMatchObject({ name: "", skills: [], capabilities: { pushNotifications: true } });
});

it("a 1.0 card is read without interfaces that cannot be called", () => {
  const supportedInterfaces = [{ url: "" }, { url: "http://b.example" }, 7, ...smallest.supportedInterfaces];
  expect(readCard({ supportedInterfaces }).supportedInterfaces.map(({ url }) => url)).toEqual(["http://a.example"]);
});

it.each([[undefined], [null], ["card"], [[]], [{}], [{ supportedInterfaces: [{}] }]])(
  "the 1.0 card reader takes %j for no card",
  (json) => {
    expect(() => readCard(json)).toThrow(expect.objectContaining({ code: "invalidAgentResponse" }));
  },
);
