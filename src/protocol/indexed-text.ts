import type { Scope } from "./context.js";
import { invalidParams } from "./errors.js";

// Stores find tasks by indexed texts, and an index limits their length: an entry in PostgreSQL has at most 2,704 bytes,
// and the longest one holds an agent, a tenant, an owner, an id and three numbers.

/**
 * The most UTF-8 bytes that an indexed text may have. NUL and U+FFFF count as four bytes: PostgreSQL stores no text
 * with a NUL, so both are escaped. An id of 256 UTF-16 units always fits.
 */
export const indexedMaxBytes = { agent: 64, owner: 768, tenant: 768, id: 1_024 } as const;

/** Throws a `TypeError` if an `agentId` is too long to be stored. */
export function checkAgentId(agentId: string): void {
  const bytes = countBytes(agentId);
  if (bytes <= indexedMaxBytes.agent) return;
  throw new TypeError(`agentId has ${bytes} bytes, the limit is ${indexedMaxBytes.agent}: choose a shorter one`);
}

/** Throws `invalidParams` if an agent, owner or tenant is too long to be stored. */
export function checkIndexedScope({ agent, tenant, owner }: Scope): void {
  check("agent", agent, bounds.agent);
  check("owner", owner, bounds.owner);
  check("tenant", tenant, bounds.tenant);
}

/** Throws `invalidParams` if an id, or a name used as one, is too long to be stored. */
export function checkIndexedId(field: string, id: string): void {
  check(field, id, bounds.id);
}

/** The most bytes that one UTF-16 unit can take. */
const unitMaxBytes = 4;

interface ByteLimit {
  readonly limit: number;
  readonly remedy: string;
}

const bounds = {
  agent: { limit: indexedMaxBytes.agent, remedy: "the host must give a shorter agentId" },
  owner: { limit: indexedMaxBytes.owner, remedy: "authenticate must give a shorter one" },
  tenant: { limit: indexedMaxBytes.tenant, remedy: "authenticate must give a shorter one" },
  id: { limit: indexedMaxBytes.id, remedy: "send a shorter one" },
} as const satisfies Record<keyof typeof indexedMaxBytes, ByteLimit>;

function check(field: string, text: string, { limit, remedy }: ByteLimit): void {
  if (text.length * unitMaxBytes <= limit) return;
  const bytes = countBytes(text);
  if (bytes <= limit) return;
  throw invalidParams({ field, description: `has ${bytes} bytes, the limit is ${limit}: ${remedy}` });
}

const encoder = new TextEncoder();
const escapedCharacters = /[\0\uffff]/g;

function countBytes(text: string): number {
  return encoder.encode(text.replaceAll(escapedCharacters, "\u{10000}")).length;
}
