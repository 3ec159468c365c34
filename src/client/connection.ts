import { ConnectionError } from "../protocol/errors.js";

/** An interface of a card. */
export interface InterfaceName {
  /** As the card names it: `JSONRPC`, `HTTP+JSON`, `GRPC`, or a URI. */
  readonly binding: string;
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

/** No interface of the card let a call through; `code` is `unavailable`. */
export class NoInterfaceError extends ConnectionError {
  readonly passedOver: readonly PassedOver[];

  constructor(
    passedOver: readonly PassedOver[],
    options: { readonly written: boolean; readonly cause?: unknown; readonly retryAfterMs?: number | undefined },
  ) {
    const list = passedOver.map(({ binding, version, url, reason }) => `${binding} ${version} at ${url}: ${reason}`);
    super(
      list.length === 0 ? "the card lists no interface" : `no interface of the agent answers: ${list.join("; ")}`,
      options,
    );
    this.name = "NoInterfaceError";
    this.passedOver = passedOver;
  }
}
