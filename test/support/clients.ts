import { type ClientFactory, clientFactory } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node-client.js";
import type { FixedClientLimits } from "../../src/client/options.js";

/** Creates clients for Node with other limits than those that no option changes. */
export function clientsWith(limits: Partial<FixedClientLimits>): ClientFactory {
  return clientFactory({ ...nodePlatform, limits });
}

/** Clients whose subscriptions may stay silent: for a clock on which every time limit would be over at once. */
export const patientClients = clientsWith({ snapshotTimeoutMs: Number.POSITIVE_INFINITY });
