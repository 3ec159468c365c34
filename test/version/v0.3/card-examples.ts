import type { JsonObject } from "@bufbuild/protobuf";

// Cards as served by agents of each version.

const skill = { id: "assign", name: "Assign berth", description: "Finds a free berth" };

/** 0.3, with three transports. */
export const threeTransports: JsonObject = {
  protocolVersion: "0.3.0",
  name: "Quay Planner",
  description: "Assigns berths",
  version: "2.4.0",
  url: "https://quay.example/rpc",
  preferredTransport: "JSONRPC",
  additionalInterfaces: [
    { url: "https://quay.example/rpc", transport: "JSONRPC" },
    { url: "https://quay.example/rest", transport: "HTTP+JSON" },
    { url: "https://grpc.quay.example", transport: "GRPC" },
  ],
  capabilities: {
    streaming: true,
    pushNotifications: true,
    extensions: [{ uri: "https://ext.example/tide/v1", required: false }],
  },
  defaultInputModes: ["text/plain", "application/json"],
  defaultOutputModes: ["text/plain"],
  securitySchemes: {
    "port-sso": {
      type: "openIdConnect",
      openIdConnectUrl: "https://sso.example/.well-known/openid-configuration",
    },
    key: { type: "apiKey", in: "header", name: "X-Quay-Key" },
  },
  security: [{ "port-sso": ["berths"] }, { key: [] }],
  supportsAuthenticatedExtendedCard: true,
  skills: [{ ...skill, tags: ["port"], security: [{ "port-sso": ["berths.write"] }] }],
};

/** 0.2.2, which has no version member. */
export const beforeVersions: JsonObject = {
  name: "Quay Planner",
  description: "Assigns berths",
  url: "https://quay.example/a2a/v1",
  version: "1.1.0",
  capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  securitySchemes: { basic: { type: "http", scheme: "Basic" } },
  security: [{ basic: [] }],
  supportsAuthenticatedExtendedCard: true,
  skills: [{ ...skill, tags: [] }],
};

/** One card for readers of 0.3 and 1.0. */
export const forBoth: JsonObject = {
  name: "Quay Planner",
  description: "Assigns berths",
  version: "3.0.0",
  supportedInterfaces: [
    { url: "https://quay.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
    { url: "https://quay.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    { url: "https://quay.example/api", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
    { url: "https://quay.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
  ],
  protocolVersion: "0.3.0",
  url: "https://quay.example/rpc",
  preferredTransport: "JSONRPC",
  additionalInterfaces: [
    { url: "https://quay.example/rpc", transport: "JSONRPC" },
    { url: "https://quay.example/rest", transport: "HTTP+JSON" },
  ],
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  supportsAuthenticatedExtendedCard: true,
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  securitySchemes: { bearer: { type: "http", scheme: "Bearer", httpAuthSecurityScheme: { scheme: "Bearer" } } },
  security: [{ bearer: [] }],
  securityRequirements: [{ schemes: { bearer: { list: [] } } }],
  skills: [{ ...skill, tags: ["port"] }],
};

/** 0.1. */
export const oldest: JsonObject = {
  name: "Quay Planner",
  url: "https://quay.example/",
  version: "0.9.0",
  capabilities: { streaming: true },
  authentication: { schemes: ["ApiKey"], credentials: '{"in":"header","name":"X-Quay-Key"}' },
  defaultInputModes: ["text"],
  skills: [{ id: "assign", name: "Assign berth" }],
};
