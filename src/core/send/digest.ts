import { createHash } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { writeJson } from "../../protocol/codec/json/writer.js";
import { type SendMessageRequest, SendMessageRequestSchema } from "../../protocol/model.js";

/**
 * A digest of a send's content: SHA-256 over the JSON form of message, configuration and metadata with sorted keys, so
 * that it does not depend on the binding or on member order. The tenant is left out because it belongs to the scope.
 */
export function digestOfSend(request: SendMessageRequest): string {
  const content: SendMessageRequest = { ...request, tenant: "" };
  const json = writeJson(SendMessageRequestSchema, content);
  // Older versions always send a configuration, even an empty one.
  if (Object.keys(json["configuration"] ?? {}).length === 0) delete json["configuration"];
  return createHash("sha256").update(textInOrder(json)).digest("hex");
}

/** The JSON text of a value with objects as lists: an object would put numeric keys first and lose `__proto__`. */
function textInOrder(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `["list"${value.map((each) => `,${textInOrder(each)}`).join("")}]`;
  let text = '["object"';
  for (const key of Object.keys(value).sort(byUnits))
    text += `,${JSON.stringify(key)},${textInOrder(value[key] ?? null)}`;
  return `${text}]`;
}

const byUnits = (left: string, right: string): number => (left < right ? -1 : 1);
