import { unlessAborted } from "../protocol/async/pause.js";
import type { A2AError } from "../protocol/errors.js";
import type { Credential } from "./credentials.js";

/** The part of a credential that one security scheme asks for. Both functions may run several times at once. */
export interface CredentialPart {
  /** Two parts of the same key cannot be in one call. */
  readonly key: string;
  get(signal: AbortSignal | undefined): Promise<Credential>;
  /** Forgets what `refused` carried, if it still would give that. True when the next `get` gives something else. */
  refuse?(refused: Credential, error: A2AError): Promise<boolean>;
}

/** Does something and waits for it until the signal aborts. */
export async function untilAborted<T>(work: () => T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  signal?.throwIfAborted();
  return unlessAborted(Promise.resolve(work()), signal);
}
