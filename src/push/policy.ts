import { type AddressPolicy, type AllowedAddresses, addressPolicy } from "../binding/fetch/address-policy.js";

/**
 * Addresses that webhooks may have: public internet addresses, this machine, or a list of host names and CIDR blocks.
 */
export type PushAllow = AllowedAddresses;

/** Creates the policy of an `allow`. Throws a `TypeError` when it is invalid. */
export function createPolicy(allow: PushAllow): AddressPolicy {
  return addressPolicy(allow, "push.allow");
}
