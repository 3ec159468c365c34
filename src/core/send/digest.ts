import { createHash } from "node:crypto";
import type { JsonValue } from "@bufbuild/protobuf";
import { writeJson } from "../../protocol/codec/json/writer.js";
import { type SendMessageRequest, SendMessageRequestSchema } from "../../protocol/model.js";

/**
 * Shows whether two sends have the same content: a SHA-256 over the JSON form of message, configuration and metadata, with
 * the keys of every object in order, so that it is the same by whichever binding and in whichever order they came. The
 * tenant is left out: it belongs to the scope.
 */
export function digestOfSend(request: SendMessageRequest): string {
  const content: SendMessageRequest = { ...request, tenant: "" };
  const json = writeJson(SendMessageRequestSchema, content);
  // Older versions always send one, though it may say nothing.
  if (Object.keys(json["configuration"] ?? {}).length === 0) delete json["configuration"];
  return createHash("sha256").update(textInOrder(json)).digest("hex");
}

/**
 * The JSON text of a value in which objects are lists too: an object would put keys that look like numbers first, and lose
 * `__proto__`.
 */
function textInOrder(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `["list"${value.map((each) => `,${textInOrder(each)}`).join("")}]`;
  let text = '["object"';
  for (const key of Object.keys(value).sort(byUnits))
    text += `,${JSON.stringify(key)},${textInOrder(value[key] ?? null)}`;
  return `${text}]`;
}

const byUnits = (left: string, right: string): number => (left < right ? -1 : 1);
