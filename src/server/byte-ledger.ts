import { A2AError } from "../protocol/errors.js";

/**
 * Counts the bytes of requests in memory, for the process and for each caller. A caller may hold half of what the others
 * leave: one alone gets half of the limit, two get a third each, and there is always room for the next.
 */
export interface ByteLedger {
  /** Opens an entry for one request of a caller. */
  open(caller: string): LedgerEntry;
}

/** The bytes of one request. */
export interface LedgerEntry {
  /** Books bytes as they arrive. Throws `unavailable` or `resourceExhausted`, and books nothing then. */
  hold(bytes: number): void;
  /** Releases everything that was booked. */
  release(): void;
}

/** `maxBytes`: the limit of the process. */
export function createByteLedger(maxBytes: number): ByteLedger {
  const held = new Map<string, number>();
  let total = 0;

  const book = (caller: string, bytes: number): void => {
    total += bytes;
    const own = (held.get(caller) ?? 0) + bytes;
    if (own === 0) held.delete(caller);
    else held.set(caller, own);
  };

  return {
    open(caller) {
      let booked = 0;
      return {
        hold(bytes) {
          if (total + bytes > maxBytes) throw overload("unavailable", "too many request bytes in memory", maxBytes);
          const own = held.get(caller) ?? 0;
          // A caller's only request may exceed the share, or a small limit would refuse every request.
          if (own > booked && own + bytes > (maxBytes - (total - own)) / 2) {
            throw overload("resourceExhausted", "too many request bytes of this caller in memory", maxBytes);
          }
          book(caller, bytes);
          booked += bytes;
        },
        release() {
          if (booked > 0) book(caller, -booked);
          booked = 0;
        },
      };
    },
  };
}

function overload(code: "unavailable" | "resourceExhausted", what: string, maxBytes: number): A2AError {
  return new A2AError(code, `${what}: the limit is ${maxBytes} (inFlightMaxBytes)`, {
    retryAfterMs: 1000,
    metadata: { limit: "inFlightMaxBytes" },
  });
}
