import { createHmac, randomBytes } from "node:crypto";
import type { Clock } from "../protocol/async/clock.js";
import type { ReadHeader } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { LocalCounters, loadLimiters } from "./local-counters.js";
import type { Rate } from "./options.js";
import { readRate } from "./rate.js";

export const defaultFailedAttempts: Rate = "300/minute";

/** What a check of credentials reads of a call. */
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
  /** Fingerprints of credentials that were accepted from there since. */
  readonly accepted: Set<string>;
  until: number;
}

/** Addresses that are remembered, and accepted credentials of one. */
const suspectsMax = 10_000;
const acceptedMax = 1000;
/** How long an address is remembered after its last failed attempt, in windows. */
const rememberedWindows = 10;
/** Names of headers that are known to be read. */
const namesMax = 32;

/**
 * Limits the attempts to authenticate that fail, by address. A call from an address without such attempts costs nothing.
 * Others there may have the same address, behind a network's gateway: credentials that were accepted since the first
 * failed attempt are let through, however many attempts fail.
 */
export class FailedAttempts<H extends AttemptHead> {
  readonly #options: FailedAttemptsOptions<H>;
  readonly #limit;
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
      who: "address",
      of: "",
      what: "requests",
      ...readRate(options.rate),
    } as const;
  }

  /** Runs a check of credentials within the limit. Returns no promise if the check does not and the address is blameless. */
  run<T>(head: H, check: (head: H) => T | Promise<T>): T | Promise<T> {
    const suspect = this.#suspects.size === 0 ? undefined : this.#suspectOf(head);
    if (suspect !== undefined) return this.#runSuspect(head, suspect, check);
    try {
      const checked = check(head);
      return checked instanceof Promise ? checked.catch((error: unknown) => this.#failed(head, error)) : checked;
    } catch (error) {
      return this.#failed(head, error);
    }
  }

  async #runSuspect<T>(head: H, suspect: Suspect, check: (head: H) => T | Promise<T>): Promise<T> {
    const { refused } = await (await this.#open()).take([{ ...this.#claimOf(head), isUsed: true }]);
    if (refused !== undefined && !suspect.accepted.has(this.#fingerprint(head))) throw this.#tooMany(refused.endsInMs);
    let checked: T;
    try {
      checked = await check(this.#watched(head));
    } catch (error) {
      return this.#failed(head, error);
    }
    if (suspect.accepted.size < acceptedMax) suspect.accepted.add(this.#fingerprint(head));
    return checked;
  }

  async #failed(head: H, error: unknown): Promise<never> {
    const address = this.#options.addressOf(head);
    if (address === undefined || !this.#options.isFailure(error)) throw error;
    const known = this.#suspects.get(address);
    this.#suspects.delete(address);
    const until = this.#options.clock.now() + rememberedWindows * this.#limit.windowMs;
    this.#suspects.set(address, { accepted: known?.accepted ?? new Set(), until });
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

  /** The head, and what is read of it noted. */
  #watched(head: H): H {
    const note = (name: string): string | undefined => {
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
      header: note,
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

  /** What the checks read of a call, as a hash whose key never leaves this process. */
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
    const { shown, name } = this.#limit;
    return new A2AError(
      "resourceExhausted",
      `too many failed attempts to authenticate from this address: the limit is ${shown} (rate.${name})`,
      { retryAfterMs, metadata: { limit: `rate.${name}` } },
    );
  }
}
