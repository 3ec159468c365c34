import type { JsonObject } from "@bufbuild/protobuf";
import { sanitizeJson } from "../protocol/check/sanitize.js";
import type { Principal } from "../protocol/context.js";
import { isObject } from "../protocol/kinds.js";
import type { AuthOptions } from "./auth-options.js";
import { copyFrozen } from "./freeze.js";

/** Returns the part of a principal that is stored with its message, beside owner and tenant. */
export type KeptClaims = (principal: Principal) => JsonObject;

/** `undefined` when nothing is stored. The principals of known tokens are the same objects, and each is read once. */
export function keptClaims({ keepClaims = false }: Pick<AuthOptions, "keepClaims">): KeptClaims | undefined {
  if (keepClaims === false) return undefined;
  const cache = new WeakMap<Principal, JsonObject>();
  return (principal) => {
    const claimsToStore = cache.get(principal) ?? pickClaims(principal, keepClaims);
    cache.set(principal, claimsToStore);
    return claimsToStore;
  };
}

function pickClaims({ owner: _, tenant: __, ...rest }: Principal, names: true | readonly string[]): JsonObject {
  const { claims } = rest;
  const isAll = names === true || !isObject(claims);
  const claimsToStore = isAll
    ? claims
    : Object.fromEntries(Object.entries(claims).filter(([name]) => names.includes(name)));
  const members: object = { ...rest, claims: claimsToStore };
  try {
    return copyFrozen(sanitizeJson(members, { name: "principal", depth: 0 }) as JsonObject);
  } catch (cause) {
    throw new TypeError("auth.keepClaims: the principal has members that are not JSON: return plain values", { cause });
  }
}
