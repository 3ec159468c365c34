import type { A2AError } from "../protocol/errors.js";

/** What a call carries to say who is calling. */
export interface Credential {
  /** Headers, or gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Added to the URL, by the bindings that have one. */
  readonly query?: Readonly<Record<string, string>> | undefined;
}

/** Where the credentials for one agent come from. Both may be called while another call is under way. */
export interface CredentialSource {
  /**
   * For the next call; `undefined`: it goes without. Throws `unauthenticated` when an authorization server says no, and
   * `unavailable` when it cannot be asked: nothing has been sent to the agent then.
   */
  get(signal: AbortSignal | undefined): Promise<Credential | undefined>;
  /**
   * A better one, after a call that carried `refused` was refused with `error`; `undefined`: there is none. Throws when it
   * can say better than `error` what is missing. For one retry of a call.
   */
  renew(
    refused: Credential | undefined,
    error: A2AError,
    signal: AbortSignal | undefined,
  ): Promise<Credential | undefined>;
}
