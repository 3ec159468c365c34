import type { JsonObject } from "@bufbuild/protobuf";
import { type Binding, bindingNames, bindingRow } from "../../../src/protocol/bindings.js";

/** The bindings of the Node client. */
export const allBindings = bindingNames;
export type BindingName = Binding;

/** A card's entry for an interface of a Trivium server at an origin. */
export function interfaceAt(binding: BindingName, origin: string, more: JsonObject = {}): JsonObject {
  const { wire, path } = bindingRow(binding);
  return { protocolBinding: wire, url: origin + path, protocolVersion: "1.0", ...more };
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
