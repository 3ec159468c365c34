import type { A2AError } from "../protocol/errors.js";

/** Headers and query parameters that identify the caller of a call. */
export interface Credential {
  /** Headers, or gRPC metadata. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Query parameters, for bindings with a URL. */
  readonly query?: Readonly<Record<string, string>> | undefined;
}

/** Provides the credentials for one agent. Both methods may run concurrently. */
export interface CredentialSource {
  /** Whether each call gets a credential: no sign-in begins for an interface that may not have it. Default: not known. */
  readonly isSure?: boolean | undefined;
  /**
   * The credential for the next call; `undefined` for none. Throws `unauthenticated` when an authorization server
   * refuses, and `unavailable` when it cannot be reached. In both cases nothing was sent to the agent.
   */
  get(signal: AbortSignal | undefined): Promise<Credential | undefined>;
  /**
   * A new credential after a call with `refused` failed with `error`, for one retry; `undefined` if there is none.
   * Throws when it knows better than `error` what is missing.
   */
  renew(
    previous: Credential | undefined,
    error: A2AError,
    signal: AbortSignal | undefined,
  ): Promise<Credential | undefined>;
}
