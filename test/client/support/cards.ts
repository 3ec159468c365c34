import type { JsonObject } from "@bufbuild/protobuf";

/** The bindings that a client of Node has. */
export const allBindings = ["JSONRPC", "HTTP+JSON", "GRPC", "urn:trivium:binding:connect:v1"] as const;
export type BindingName = (typeof allBindings)[number];

const paths: Readonly<Record<BindingName, string>> = {
  JSONRPC: "/json-rpc",
  "HTTP+JSON": "/http-json",
  GRPC: "",
  "urn:trivium:binding:connect:v1": "",
};

/** The entry of a card for an interface of a Trivium server at an origin. */
export function interfaceAt(binding: BindingName, origin: string, more: JsonObject = {}): JsonObject {
  return { protocolBinding: binding, url: origin + paths[binding], protocolVersion: "1.0", ...more };
}

/** The JSON of a card with these interfaces. */
export function cardOf(supportedInterfaces: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  return {
    name: "Declared",
    description: "Declares what the test says",
    version: "1",
    capabilities: { streaming: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "s", name: "S", description: "s", tags: ["s"] }],
    supportedInterfaces: [...supportedInterfaces],
    ...more,
  };
}
