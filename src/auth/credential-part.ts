import { unlessAborted } from "../protocol/async/pause.js";
import type { A2AError } from "../protocol/errors.js";
import type { Credential } from "./credentials.js";

/** The part of a credential for one security scheme. Both functions may run concurrently. */
export interface CredentialPart {
  /** Two parts with the same key cannot share a call. */
  readonly key: string;
  get(signal: AbortSignal | undefined): Promise<Credential>;
  /** Discards what `refused` carried if it is still current. Returns true when the next `get` will differ. */
  refuse?(credential: Credential, error: A2AError): Promise<boolean>;
}

/** Runs work and waits for it until the signal aborts. */
export async function untilAborted<T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted();
  return unlessAborted(Promise.resolve(work()), signal);
}
