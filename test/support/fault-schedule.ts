/** A direction of a connection: what the caller sends, and what it receives. */
export type Direction = "request" | "response";

/**
 * How a connection is cut. `end`: both sides see a clean end. `reset`: both see a reset. `half`: the receiving side sees a
 * clean end, and the other direction stays open.
 */
export type Ending = "end" | "reset" | "half";

/** What happens to the bytes of one direction. Offsets count from its first byte. */
export interface Flow {
  /** Cut once `after` bytes have passed; with 0, when the first byte arrives, which then does not pass. */
  readonly cut?: { readonly after: number; readonly how: Ending } | undefined;
  /**
   * Hold back what follows `after` bytes until the promise of `until` resolves, or until the receiver ends its side.
   */
  readonly hold?: { readonly after: number; readonly until: () => Promise<unknown> } | undefined;
  /**
   * Pass the bytes in pieces that end at the given offsets, or of a fixed size, each followed by a pause (default: two
   * turns of the event loop).
   */
  readonly pieces?:
    | {
        readonly at?: readonly number[] | undefined;
        readonly every?: number | undefined;
        readonly pause?: (() => Promise<unknown>) | undefined;
      }
    | undefined;
}

/** An HTTP/1.1 or HTTP/2 answer, whichever the caller speaks. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Over HTTP/2 its end is the end of the stream, without trailers. */
  readonly body?: string | Uint8Array | undefined;
}

/** What happens to one connection. Only `pass` and `flow` reach the target. */
export type Rule =
  | { readonly kind: "pass" }
  /** The port is closed until `until` resolves (then the next rule applies) or another schedule is set. */
  | { readonly kind: "refuse"; readonly until?: (() => Promise<unknown>) | undefined }
  /** Accepted, then ended. */
  | { readonly kind: "close" }
  /** Accepted, then reset. */
  | { readonly kind: "reset" }
  /** Accepted and read, but never answered. */
  | { readonly kind: "hang" }
  /** Answered over HTTP without the target. */
  | { readonly kind: "answer"; readonly answer: HttpAnswer }
  /** Answered with these bytes after the caller's first byte, then ended, reset or left open. */
  | { readonly kind: "raw"; readonly bytes: Uint8Array; readonly ending?: "end" | "reset" | "open" | undefined }
  | { readonly kind: "flow"; readonly request?: Flow | undefined; readonly response?: Flow | undefined };

/** One rule for each connection, in order. The last one repeats; an empty schedule passes all. */
export type Schedule = readonly Rule[];

/** A connection that is cut after this many bytes of one direction. */
export function cutAfter(direction: Direction, after: number, how: Ending): Rule {
  const flow: Flow = { cut: { after, how } };
  return direction === "request" ? { kind: "flow", request: flow } : { kind: "flow", response: flow };
}
