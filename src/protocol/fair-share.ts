import type { Principal, Scope } from "./context.js";

/**
 * Identifies an owner in counts that hold for all agents together: fairness, memory, rates. The length separates the
 * tenant from the owner, whatever characters they have.
 */
export function ownerKey({ tenant = "", owner }: Pick<Principal, "tenant" | "owner">): string {
  return `${tenant.length} ${tenant}${owner}`;
}

/** Identifies an owner at one agent, as the store does. */
export function scopeKey(scope: Scope): string {
  return `${scope.agent.length} ${scope.agent}${ownerKey(scope)}`;
}

/**
 * Whether an owner that holds `own` of `total` bytes has more than half of what the others leave. One alone gets half of the limit,
 * two get a third each, and there is always room for the next.
 */
export function exceedsShare(own: number, total: number, maxBytes: number): boolean {
  return own > (maxBytes - (total - own)) / 2;
}
