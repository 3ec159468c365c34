import { type AddressPolicy, type AllowedAddresses, addressPolicy } from "../binding/fetch/address-policy.js";

/** Addresses that webhooks may have: the internet, this machine, or a list of host names and CIDR blocks. */
export type PushAllow = AllowedAddresses;

/** Makes the policy of an `allow`. Throws a `TypeError` for one that says nothing clear. */
export function createPolicy(allow: PushAllow): AddressPolicy {
  return addressPolicy(allow, "push.allow");
}
