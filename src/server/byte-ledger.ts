import { A2AError } from "../protocol/errors.js";

/**
 * Counts the bytes of requests and replies in memory, for the process and for each caller. A caller may hold half of what the others
 * leave: one alone gets half of the limit, two get a third each, and there is always room for the next.
 */
export interface ByteLedger {
  /** Opens an entry for one call. `callerOf` names its caller, and is called only when the call is not small. */
  open(callerOf: () => string): LedgerEntry;
}

/** The bytes of one call: of its request until it is decoded, of its reply until the peer has taken it. */
export interface LedgerEntry {
  /** Books a piece of the request as it arrives. Throws as `hold` does, and where there is no memory for a large request. */
  receive(bytes: number): void;
  /** Books bytes. Throws `unavailable` or `resourceExhausted`, and books nothing then. */
  hold(bytes: number): void;
  /** Releases so many bytes. Default: everything that was booked. */
  release(bytes?: number): void;
}

/** Measures the memory that calls take. */
export interface MemoryLoad {
  /** Takes note of bytes that a call brings into memory. */
  booked(bytes: number): void;
  /** Throws `unavailable` when there is no memory for a request of this size. */
  checkRequest(bytes: number): void;
}

/** Up to this size a call counts for the process alone: it takes less than finding out who the caller is. */
const smallBytes = 1024;

/** What a piece of a request takes at least, however small: Node makes a buffer of each. */
const pieceBytes = 256;

/** `maxBytes`: the limit of the process. */
export function createByteLedger(maxBytes: number, load?: MemoryLoad): ByteLedger {
  const held = new Map<string, number>();
  let total = 0;
  const limit = `${maxBytes} (inFlightMaxBytes)`;

  const book = (caller: string, bytes: number): void => {
    const own = (held.get(caller) ?? 0) + bytes;
    if (own === 0) held.delete(caller);
    else held.set(caller, own);
  };

  /** Books bytes of a request to its caller, who holds `before` of them for this request already. */
  const share = (caller: string, bytes: number, before: number): void => {
    const own = held.get(caller) ?? 0;
    // A caller's only request may exceed the share, or a small limit would refuse every request.
    if (own > before && own + bytes > (maxBytes - (total - own)) / 2) {
      const text = `too many bytes of this caller in memory: the limit is half of what others leave of ${limit}`;
      throw new A2AError("resourceExhausted", text, details);
    }
    book(caller, bytes);
  };

  return {
    open(callerOf) {
      let booked = 0;
      let received = 0;
      let caller: string | undefined;
      const hold = (bytes: number): void => {
        load?.booked(bytes);
        if (total + bytes > maxBytes) {
          throw new A2AError("unavailable", `too many bytes in memory: the limit is ${limit}`, details);
        }
        if (caller !== undefined) share(caller, bytes, booked);
        else if (booked + bytes > smallBytes) {
          const found = callerOf();
          share(found, booked + bytes, 0);
          caller = found;
        }
        total += bytes;
        booked += bytes;
      };
      return {
        hold,
        receive(bytes) {
          const cost = received === 0 ? bytes : Math.max(bytes, pieceBytes);
          received += bytes;
          load?.checkRequest(received);
          hold(cost);
        },
        release(bytes = booked) {
          total -= bytes;
          booked -= bytes;
          if (caller !== undefined) book(caller, -bytes);
          if (booked === 0) caller = undefined;
        },
      };
    },
  };
}

const details = { retryAfterMs: 1000, metadata: { limit: "inFlightMaxBytes" } };
