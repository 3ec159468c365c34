import type { Scope } from "./context.js";

/** The owner of a scope, over all agents. The length keeps apart a tenant and an owner of any text. */
export function ownerKey({ tenant, owner }: Scope): string {
  return `${tenant.length} ${tenant}${owner}`;
}

/**
 * Whether an owner that holds `own` of `total` bytes has more than half of what the others leave. One alone gets half of the limit,
 * two get a third each, and there is always room for the next.
 */
export function exceedsShare(own: number, total: number, maxBytes: number): boolean {
  return own > (maxBytes - (total - own)) / 2;
}
