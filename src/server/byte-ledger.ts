import { A2AError } from "../protocol/errors.js";
import { exceedsShare } from "../protocol/fair-share.js";

// The bytes of calls in memory (`inFlightMaxBytes`), and who books them:
//
// - the body of a request, piece by piece as it arrives, until it is decoded (`binding/server-call.ts`)
// - a large reply or event, from before it is encoded until its peer has taken it (`binding/http/reply-writer.ts`,
//   `binding/grpc/call.ts`)
// - the answer of an agent behind a gateway, as it arrives (`gateway/accounted-answer.ts`)
// - small replies that peers of HTTP/2 do not take (`binding/listen/unsent.ts`); where they find no room, calls of that
//   network are refused for a moment (`unsent-budget.ts`)
//
// Invariant: what is booked is released, in whatever pieces it comes and however the call ends.

/**
 * Counts the bytes of requests and replies in memory, for the process and for each caller. A caller may hold half of what the others
 * leave: one alone gets half of the limit, two get a third each, and there is always room for the next.
 */
export interface ByteLedger {
  /** Opens an entry for one call. */
  open(call: LedgerCall): LedgerEntry;
}

/** The call of an entry. */
interface LedgerCall {
  /** Names its caller; read only when the call is not small. */
  readonly caller: string;
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
  noteBytes(bytes: number): void;
  /** Throws `unavailable` when there is no memory for a request of this size. */
  checkRequest(bytes: number): void;
}

/** Up to this size a call counts for the process alone: it takes less than finding out who the caller is. */
const smallBytes = 1024;

/** Minimum size of a piece of a request: Node makes a buffer of each. */
const pieceBytes = 256;

/** `maxBytes`: the limit of the process. */
export function createByteLedger(maxBytes: number, load?: MemoryLoad): ByteLedger {
  const ledger = new Ledger(maxBytes, load);
  return { open: (call) => new Entry(ledger, call) };
}

/** The bytes of the process and of its callers. */
class Ledger {
  readonly load: MemoryLoad | undefined;
  readonly #maxBytes: number;
  readonly #bytesByCaller = new Map<string, number>();
  #total = 0;

  constructor(maxBytes: number, load: MemoryLoad | undefined) {
    this.#maxBytes = maxBytes;
    this.load = load;
  }

  /** Throws `unavailable` when so many bytes more are over the limit of the process. */
  checkRoom(bytes: number): void {
    if (this.#total + bytes <= this.#maxBytes) return;
    throw new A2AError("unavailable", `too many bytes in memory: the limit is ${this.#limit}`, details);
  }

  add(bytes: number): void {
    this.#total += bytes;
  }

  /** Books bytes of a request to its caller, who holds `before` of them for this request already. */
  share(caller: string, bytes: number, before: number): void {
    const callerBytes = this.#bytesByCaller.get(caller) ?? 0;
    // A caller's only request may exceed the share, or a small limit would refuse every request.
    if (callerBytes > before && exceedsShare(callerBytes + bytes, this.#total + bytes, this.#maxBytes)) {
      const text = `too many bytes of this caller in memory: the limit is half of what others leave of ${this.#limit}`;
      throw new A2AError("resourceExhausted", text, details);
    }
    this.account(caller, bytes);
  }

  account(caller: string, bytes: number): void {
    const callerBytes = (this.#bytesByCaller.get(caller) ?? 0) + bytes;
    if (callerBytes === 0) this.#bytesByCaller.delete(caller);
    else this.#bytesByCaller.set(caller, callerBytes);
  }

  get #limit(): string {
    return `${this.#maxBytes} (inFlightMaxBytes)`;
  }
}

class Entry implements LedgerEntry {
  readonly #ledger: Ledger;
  readonly #call: LedgerCall;
  #bookedBytes = 0;
  #receivedBytes = 0;
  #caller: string | undefined;

  constructor(ledger: Ledger, call: LedgerCall) {
    this.#ledger = ledger;
    this.#call = call;
  }

  hold(bytes: number): void {
    const ledger = this.#ledger;
    ledger.load?.noteBytes(bytes);
    ledger.checkRoom(bytes);
    if (this.#caller !== undefined) ledger.share(this.#caller, bytes, this.#bookedBytes);
    else if (this.#bookedBytes + bytes > smallBytes) {
      const { caller } = this.#call;
      ledger.share(caller, this.#bookedBytes + bytes, 0);
      this.#caller = caller;
    }
    ledger.add(bytes);
    this.#bookedBytes += bytes;
  }

  receive(bytes: number): void {
    const cost = this.#receivedBytes === 0 ? bytes : Math.max(bytes, pieceBytes);
    this.#receivedBytes += bytes;
    this.#ledger.load?.checkRequest(this.#receivedBytes);
    this.hold(cost);
  }

  release(bytes = this.#bookedBytes): void {
    this.#ledger.add(-bytes);
    this.#bookedBytes -= bytes;
    if (this.#caller !== undefined) this.#ledger.account(this.#caller, -bytes);
    if (this.#bookedBytes === 0) this.#caller = undefined;
  }
}

const details = { retryAfterMs: 1000, metadata: { limit: "inFlightMaxBytes" } };
