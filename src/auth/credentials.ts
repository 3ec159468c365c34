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
  /** For the next call; `undefined`: it goes without. */
  get(signal: AbortSignal | undefined): Promise<Credential | undefined>;
  /** A better one, after a call that carried `refused` was refused with `error`; `undefined`: there is none. */
  renew(
    refused: Credential | undefined,
    error: A2AError,
    signal: AbortSignal | undefined,
  ): Promise<Credential | undefined>;
}
