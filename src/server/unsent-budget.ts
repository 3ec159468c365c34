import type { OpenUnsent } from "../binding/listen/unsent.js";
import type { EnteringCall } from "../binding/service.js";
import { findNetwork } from "../card/proxy.js";
import { A2AError } from "../protocol/errors.js";
import type { ByteLedger } from "./byte-ledger.js";

/** The room for what peers ask for and do not take: each network has its share of the bytes in memory. */
export class UnsentBudget {
  readonly #ledger: ByteLedger;
  /** Networks whose share is full, in this turn of the event loop. */
  readonly #full = new Set<string>();

  constructor(ledger: ByteLedger) {
    this.#ledger = ledger;
  }

  readonly open: OpenUnsent = (address) => {
    const network = findNetwork(address);
    const entry = this.#ledger.open({ caller: `peer\n${network}` });
    return {
      hold: (bytes) => entry.hold(bytes),
      release: (bytes) => entry.release(bytes),
      refuse: () => {
        if (this.#full.size === 0) setImmediate(() => this.#full.clear());
        this.#full.add(network);
      },
    };
  };

  /** Throws `resourceExhausted` for a call from a network whose share is full. */
  check({ peer }: Pick<EnteringCall, "peer">): void {
    if (this.#full.size === 0 || !this.#full.has(findNetwork(peer() ?? ""))) return;
    throw new A2AError(
      "resourceExhausted",
      "replies that this address does not read fill its share (inFlightMaxBytes)",
      {
        retryAfterMs: 1000,
        metadata: { limit: "inFlightMaxBytes" },
      },
    );
  }
}
