import { A2AError, ConnectionError } from "../protocol/errors.js";

/** An interface of a card. */
export interface InterfaceName {
  /** `JSONRPC`, `HTTP+JSON`, `GRPC`, `CONNECT`, or the URI of another binding. */
  readonly binding: string;
  /** The card's own word for the binding, where that is not what the protocol calls it, such as `REST`. */
  readonly listedAs?: string | undefined;
  readonly url: string;
  /** Version of the protocol. */
  readonly version: string;
}

/** An interface that was not used, and why. */
export interface PassedOver extends InterfaceName {
  readonly reason: string;
}

/** How a client reaches its agent now. */
export interface Connection extends InterfaceName {
  /** Interfaces that came before it and were not used. */
  readonly passedOver: readonly PassedOver[];
}

/** An interface that this client itself keeps away from; asking again changes nothing. */
export class NotCalledError extends ConnectionError {
  constructor(url: string, reason: string) {
    super(`${url} is not called: ${reason}`, { written: false });
    this.name = "NotCalledError";
  }
}

/** The credentials for a call could not be had; the agent was not asked. */
export class CredentialsError extends A2AError {
  constructor({ code, message, metadata, retryAfterMs, challenge }: A2AError, cause: unknown) {
    super(code, message, { cause, metadata, retryAfterMs, challenge });
    this.name = "CredentialsError";
  }
}

/** No interface of the card let a call through; `code` is `unavailable`. */
export class NoInterfaceError extends ConnectionError {
  /** Every interface of the card, and why it was not used. */
  readonly passedOver: readonly PassedOver[];
  /** What the interfaces that were tried have failed with. */
  readonly failures: readonly unknown[];

  constructor(passedOver: readonly PassedOver[], failures: readonly unknown[], written: boolean) {
    const list = passedOver.map((each) => `${interfaceText(each)}: ${each.reason}`);
    const waits = failures.flatMap((error) => (error instanceof A2AError ? (error.retryAfterMs ?? []) : []));
    super(list.length === 0 ? "the card lists no interface" : `no interface of the agent answers: ${list.join("; ")}`, {
      written,
      cause: failures.at(-1),
      retryAfterMs: waits.length === 0 ? undefined : Math.min(...waits),
    });
    this.name = "NoInterfaceError";
    this.passedOver = passedOver;
    this.failures = failures;
  }
}

/** An interface in a few words, with what the card calls its binding where that is something else. */
export function interfaceText({ binding, listedAs, version, url }: InterfaceName): string {
  const word = listedAs === undefined ? "" : ` (listed as ${JSON.stringify(listedAs)})`;
  return `${binding}${word} ${version} at ${url}`;
}
