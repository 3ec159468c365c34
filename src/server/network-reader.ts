import type { CallHead } from "../binding/service.js";
import { callerNetwork, type TrustProxy, unknownNetwork } from "../card/proxy.js";
import type { Logger } from "../protocol/logger.js";

/**
 * Creates a reader of the network for which limits count a call. HTTP calls whose mount does not know the address of the
 * peer count together, which is logged once.
 */
export function createNetworkReader(
  trustProxy: TrustProxy | undefined,
  logger: Logger,
): (head: CallHead) => string | undefined {
  const readNetwork = callerNetwork(trustProxy ?? false);
  return (head) => {
    const network = readNetwork(head);
    if (network === unknownNetwork && !warnedLoggers.has(logger)) {
      warnedLoggers.add(logger);
      logger.warn(
        {},
        "the addresses of callers are unknown, so limits by address (rate.address, rate.failedAttempts) count all calls together: pass `remoteAddress` to fetch()",
      );
    }
    return network;
  };
}

const warnedLoggers = new WeakSet<Logger>();
