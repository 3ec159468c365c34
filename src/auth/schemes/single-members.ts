import type { JsonValue } from "@bufbuild/protobuf";

/**
 * Whether a JSON text has each member of its value once. `JSON.parse` takes the last of two members with one name, other
 * readers the first: what one checks is then not what another acts on (RFC 8725, 2.4).
 */
export function hasSingleMembers(json: string, value: unknown): boolean {
  return membersIn(json) === keysIn(value as JsonValue);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/** Counts the names in a JSON text: strings before a colon. */
function membersIn(json: string): number {
  let count = 0;
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at)) {
    at += 1;
    while (at < json.length && json.charCodeAt(at) !== quote) at += json.charCodeAt(at) === backslash ? 2 : 1;
    at += 1;
    while (json.charCodeAt(at) <= 0x20) at += 1;
    if (json.charCodeAt(at) === colon) count += 1;
  }
  return count;
}

function keysIn(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  const count = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, each) => sum + keysIn(each), count);
}
