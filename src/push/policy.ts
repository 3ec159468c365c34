/** Addresses that webhooks may have: the internet, this machine, or a list of host names and CIDR blocks. */
export type PushAllow = "public" | "loopback" | readonly string[];
