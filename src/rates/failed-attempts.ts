import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../protocol/async/clock.js";
import type { ReadHeader } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { WindowLimit } from "./limits.js";
import { LocalCounters, loadLimiters } from "./local-counters.js";
import type { Rate } from "./options.js";
import { readRate } from "./rate.js";

export const defaultFailedAttempts: Rate = "300/minute";

/** The part of a call that a check of credentials reads. */
export interface AttemptHead {
  readonly header: ReadHeader;
  readonly query?: string | undefined;
  readonly certificate?: (() => { readonly subject: string } | undefined) | undefined;
}

export interface FailedAttemptsOptions<H extends AttemptHead> {
  readonly rate: Rate;
  readonly addressOf: (head: H) => string | undefined;
  /** Whether an error says that the credentials are wrong. */
  readonly isFailure: (error: unknown) => boolean;
  readonly clock: Pick<Clock, "now">;
}

/** An address from which attempts have failed. */
interface Suspect {
  /** Fingerprints of credentials that were accepted from this address since then. */
  readonly accepted: Set<string>;
  until: number;
}

/** Number of addresses remembered, and of accepted credentials for each. */
const suspectsMax = 10_000;
const acceptedMax = 1000;
/** How long an address is remembered after its last failed attempt, in windows. */
const suspectWindows = 10;
/** Number of header names in a fingerprint. */
const namesMax = 32;

/**
 * Limits failed attempts to authenticate, by address. Calls from an address without failures cost nothing. Several
 * callers may share an address behind a gateway: credentials that were accepted since the first failure are let through,
 * however many attempts fail.
 */
export class FailedAttempts<H extends AttemptHead> {
  readonly #options: FailedAttemptsOptions<H>;
  readonly #limit: WindowLimit;
  readonly #suspects = new Map<string, Suspect>();
  readonly #secret = randomBytes(32);
  /** What checks read, in any call so far. */
  readonly #names = new Set<string>();
  #readsQuery = false;
  #readsCertificate = false;
  #counters: Promise<LocalCounters> | undefined;

  constructor(options: FailedAttemptsOptions<H>) {
    this.#options = options;
    const name = "failedAttempts";
    this.#limit = {
      path: name,
      name,
      ofServer: false,
      callerKind: "address",
      scopeText: "",
      resource: "requests",
      ...readRate(options.rate),
    };
  }

  /** Runs a check of credentials within the limit. Synchronous if the check is, and the address has no failures. */
  run<T>(head: H, check: (head: H) => T | Promise<T>): T | Promise<T> {
    const suspect = this.#suspects.size === 0 ? undefined : this.#suspectOf(head);
    if (suspect !== undefined) return this.#runSuspect(head, suspect, check);
    try {
      const result = check(head);
      return result instanceof Promise ? result.catch((error: unknown) => this.#countFailure(head, error)) : result;
    } catch (error) {
      return this.#countFailure(head, error);
    }
  }

  async #runSuspect<T>(head: H, suspect: Suspect, check: (head: H) => T | Promise<T>): Promise<T> {
    const { refusal } = await (await this.#open()).take([{ ...this.#claimOf(head), isUsed: true }]);
    if (refusal !== undefined && !suspect.accepted.has(this.#fingerprint(head))) throw this.#tooMany(refusal.endsInMs);
    let result: T;
    try {
      result = await check(this.#watch(head));
    } catch (error) {
      return this.#countFailure(head, error);
    }
    if (suspect.accepted.size < acceptedMax) suspect.accepted.add(this.#fingerprint(head));
    return result;
  }

  async #countFailure(head: H, error: unknown): Promise<never> {
    const address = this.#options.addressOf(head);
    if (address === undefined || !this.#options.isFailure(error)) throw error;
    const existing = this.#suspects.get(address);
    this.#suspects.delete(address);
    const until = this.#options.clock.now() + suspectWindows * this.#limit.windowMs;
    this.#suspects.set(address, { accepted: existing?.accepted ?? new Set(), until });
    const [oldest] = this.#suspects.keys();
    if (this.#suspects.size > suspectsMax && oldest !== undefined) this.#suspects.delete(oldest);
    await (await this.#open()).charge([{ ...this.#claimOf(head), amount: 1 }]);
    throw error;
  }

  #open(): Promise<LocalCounters> {
    this.#counters ??= loadLimiters().then((limiters) => new LocalCounters(limiters, this.#options.clock));
    return this.#counters;
  }

  #claimOf(head: H) {
    return { limit: this.#limit, key: this.#options.addressOf(head) ?? "", amount: 0, isUsed: true };
  }

  #suspectOf(head: H): Suspect | undefined {
    const address = this.#options.addressOf(head);
    const suspect = address === undefined ? undefined : this.#suspects.get(address);
    if (suspect === undefined || suspect.until > this.#options.clock.now()) return suspect;
    if (address !== undefined) this.#suspects.delete(address);
    return undefined;
  }

  /** A copy of the head that notes which parts are read. */
  #watch(head: H): H {
    const readHeader = (name: string): string | undefined => {
      if (this.#names.size < namesMax) this.#names.add(name);
      return head.header(name);
    };
    const seesQuery = (): void => {
      this.#readsQuery = true;
    };
    const seesCertificate = (): void => {
      this.#readsCertificate = true;
    };
    return {
      ...head,
      header: readHeader,
      get query() {
        seesQuery();
        return head.query;
      },
      certificate() {
        seesCertificate();
        return head.certificate?.();
      },
    };
  }

  /** A hash of all that the checks read of a call. Its key never leaves this process. */
  #fingerprint(head: H): string {
    const hash = createHmac("sha256", this.#secret);
    for (const name of [...this.#names].toSorted()) {
      const value = head.header(name);
      if (value !== undefined) hash.update(JSON.stringify([name, value]));
    }
    if (this.#readsQuery && head.query !== undefined) hash.update(JSON.stringify(["?", head.query]));
    if (this.#readsCertificate) hash.update(JSON.stringify(["certificate", head.certificate?.()?.subject ?? ""]));
    return hash.digest("base64url");
  }

  #tooMany(retryAfterMs: number): A2AError {
    const { text, name } = this.#limit;
    return new A2AError(
      "resourceExhausted",
      `too many failed attempts to authenticate from this address: the limit is ${text} (rate.${name})`,
      { retryAfterMs, metadata: { limit: `rate.${name}` } },
    );
  }
}
