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
  if (signal === undefined) return work();
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work(), promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
