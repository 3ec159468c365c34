import { A2AError, CallError, ConnectionError, ownReason } from "../protocol/errors.js";

/** An interface of a card. */
export interface InterfaceName {
  /** `JSONRPC`, `HTTP+JSON`, `GRPC`, `CONNECT`, or the URI of another binding. */
  readonly binding: string;
  /** The card's own name for the binding, if it differs from the protocol's, such as `REST`. */
  readonly listedAs?: string | undefined;
  /** URL of the interface, as written in the card. */
  readonly url: string;
  /** Protocol version. */
  readonly version: string;
}

/** An interface that was not used, and why. */
export interface UnusedInterface extends InterfaceName {
  /** The reason in words, which may change. */
  readonly reason: string;
}

/** The interface over which a client currently reaches its agent. */
export interface Connection extends InterfaceName {
  /** Interfaces that were preferred but not used. */
  readonly skipped: readonly UnusedInterface[];
  /** @deprecated Read `skipped`. 0.3 has no member of this name. */
  readonly passedOver: readonly UnusedInterface[];
}

/** The connection over an interface. */
export function createConnection(name: InterfaceName, skipped: readonly UnusedInterface[]): Connection {
  return Object.defineProperty({ ...name, skipped }, "passedOver", { get: () => skipped }) as Connection;
}

/** An interface that this client refuses to call; a retry changes nothing. */
export class NotCalledError extends ConnectionError {
  constructor(url: string, reason: string) {
    super(`${url} is not called: ${reason}`, { written: false, isFinal: true });
    this.name = "NotCalledError";
  }
}

/** Credentials for a call could not be obtained; nothing was sent to the agent. */
export class CredentialsError extends CallError {
  constructor(error: A2AError, cause: unknown) {
    const { code, message, metadata, retryAfterMs, challenge } = error;
    super(code, message, { cause, ...ownReason(error), metadata, retryAfterMs, challenge });
    this.name = "CredentialsError";
  }
}

/**
 * No interface of the card could serve a call. Its `code` is `unavailable`.
 *
 * @example
 * ```ts
 * try {
 *   await client.send("hello");
 * } catch (error) {
 *   if (!(error instanceof NoInterfaceError)) throw error;
 *   for (const { binding, url, reason } of error.skipped) console.error(binding, url, reason);
 * }
 * ```
 */
export class NoInterfaceError extends ConnectionError {
  /** Every interface of the card, and why it was not used. */
  readonly skipped: readonly UnusedInterface[];
  /** The errors of the interfaces that were tried. */
  readonly failures: readonly unknown[];

  constructor(skipped: readonly UnusedInterface[], failures: readonly unknown[], written: boolean) {
    const list = skipped.map((each) => `${interfaceText(each)}: ${each.reason}`);
    const waits = failures.flatMap((error) => (error instanceof A2AError ? (error.retryAfterMs ?? []) : []));
    super(list.length === 0 ? "the card lists no interface" : `no interface of the agent answers: ${list.join("; ")}`, {
      written,
      cause: failures.at(-1),
      retryAfterMs: waits.length === 0 ? undefined : Math.min(...waits),
    });
    this.name = "NoInterfaceError";
    this.skipped = skipped;
    this.failures = failures;
  }

  /** @deprecated Read `skipped`. 0.3 has no member of this name. */
  get passedOver(): readonly UnusedInterface[] {
    return this.skipped;
  }
}

/** An interface in a few words, with the card's name for its binding if that differs. */
export function interfaceText({ binding, listedAs, version, url }: InterfaceName): string {
  const word = listedAs === undefined ? "" : ` (listed as ${JSON.stringify(listedAs)})`;
  return `${binding}${word} ${version} at ${url}`;
}
