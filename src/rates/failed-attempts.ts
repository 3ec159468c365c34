import { hash, randomBytes } from "node:crypto";
import type { Clock } from "../protocol/async/clock.js";
import type { ReadHeader } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import { FairQueue } from "../protocol/fair-queue.js";
import type { Rate } from "./options.js";
import { type ReadRate, readRate } from "./rate.js";

// Failed attempts to authenticate, by address. An address has a window of failures and a number of checks under way. At
// most `limit - failures` unknown credentials are checked there at once, since each of them may fail; others wait until
// a check ends without a failure. Credentials that were accepted in the last `acceptedWindows` are known. When the
// limit is reached they are checked all the same, from any address, so that the guesses of a neighbor lock nobody out.

export const defaultFailedAttempts: Rate = "300/minute";

/** The part of a call that a check of credentials reads. */
export interface AttemptHead {
  readonly header: ReadHeader;
  readonly query?: string | undefined;
  readonly certificate?: (() => { readonly subject: string } | undefined) | undefined;
}

export interface FailedAttemptsOptions<H extends AttemptHead> {
  readonly rate: Rate;
  /** The address that a call counts for. `undefined`: its attempts are not limited. */
  readonly readAddress: (head: H) => string | undefined;
  /** Whether an error says that the credentials are wrong. */
  readonly isFailure: (error: unknown) => boolean;
  readonly clock: Pick<Clock, "now">;
}

/** The attempts from one address. */
interface Address {
  readonly key: string;
  /** Failures in the window that ends at `endsAt`. */
  failures: number;
  endsAt: number;
  /** Checks under way that may fail. */
  checking: number;
}

interface Waiter {
  readonly go: () => void;
  readonly refuse: (error: A2AError) => void;
}

/** Number of addresses that are remembered, and of calls that wait at one of them. */
const addressesMax = 10_000;
const waiterLimits = { perKey: 100, maxBytes: Number.POSITIVE_INFINITY };
/** Number of accepted credentials of a generation; two generations are remembered. */
const acceptedMax = 10_000;
/** How long an accepted credential is known without another success, in windows. */
const acceptedWindows = 10;
/** Number of header names in a fingerprint. */
const namesMax = 32;
/** After this many checks that read no new header, it is no longer noted what checks read. */
const watchedChecks = 1000;

/** Limits failed attempts to authenticate. */
export class FailedAttempts<H extends AttemptHead> {
  readonly #options: FailedAttemptsOptions<H>;
  readonly #rate: ReadRate;
  readonly #addresses = new Map<string, Address>();
  /** Calls that wait for a check of their address to end. */
  readonly #waiters = new FairQueue<Waiter>(() => waiterLimits);
  /** Fingerprints of accepted credentials and until when they are known. */
  #accepted = new Map<string, number>();
  #acceptedBefore = new Map<string, number>();
  /**
   * Results of checks, and until when their credentials are known. Checks return the same result for a cached token.
   */
  readonly #results = new WeakMap<object, number>();
  readonly #secret = randomBytes(32).toString("base64url");
  /** Headers that checks have read in any call so far. */
  readonly #names = new Set<string>();
  #readsQuery = false;
  #readsCertificate = false;
  #watched = 0;

  constructor(options: FailedAttemptsOptions<H>) {
    this.#options = options;
    this.#rate = readRate(options.rate);
  }

  /** Runs a check of credentials within the limit. Synchronous if the check is, unless it has to wait. */
  run<T extends object>(head: H, check: (head: H) => T | Promise<T>): T | Promise<T> {
    const key = this.#options.readAddress(head);
    if (key === undefined) return check(head);
    const address = this.#addresses.get(key);
    if (address === undefined || this.#hasRoom(address)) return this.#check(head, check, key);
    if (this.#isKnown(head)) return this.#check(head, check, key, false);
    if (address.failures >= this.#rate.limit) return Promise.reject(this.#tooMany(address));
    return new Promise<T>((resolve, reject) => {
      const go = (): void => resolve(new Promise((checked) => checked(this.#check(head, check, key))));
      if (this.#waiters.add(key, { go, refuse: reject }) === undefined) reject(this.#tooMany(address));
    });
  }

  /** Runs a check. `counts`: whether it takes one of the places of its address until it ends. */
  #check<T extends object>(head: H, check: (head: H) => T | Promise<T>, key: string, counts = true): T | Promise<T> {
    const fail = (error: unknown): never => {
      this.#countFailure(head, key, error);
      throw error;
    };
    let result: T | Promise<T>;
    try {
      result = check(this.#watch(head));
    } catch (error) {
      return fail(error);
    }
    if (!(result instanceof Promise)) return this.#accept(head, result);
    const outcome = result.then((value) => this.#accept(head, value), fail);
    if (!counts) return outcome;
    const address = this.#address(key);
    address.checking += 1;
    return outcome.finally(() => {
      address.checking -= 1;
      this.#settle(address);
    });
  }

  #address(key: string): Address {
    const existing = this.#addresses.get(key);
    if (existing !== undefined) return existing;
    const address: Address = { key, failures: 0, endsAt: 0, checking: 0 };
    this.#addresses.set(key, address);
    for (const oldest of this.#addresses.values()) {
      if (this.#addresses.size <= addressesMax) break;
      if (oldest.checking === 0 && oldest !== address) this.#addresses.delete(oldest.key);
    }
    return address;
  }

  /** Whether one more credential may be checked, should all that are being checked fail. */
  #hasRoom(address: Address): boolean {
    if (address.endsAt <= this.#options.clock.now()) address.failures = 0;
    return address.failures + address.checking < this.#rate.limit;
  }

  #countFailure(head: H, key: string, error: unknown): void {
    if (!this.#options.isFailure(error)) return;
    const address = this.#address(key);
    // The address that failed last is forgotten last.
    this.#addresses.delete(address.key);
    this.#addresses.set(address.key, address);
    const now = this.#options.clock.now();
    if (address.endsAt <= now) {
      address.failures = 0;
      address.endsAt = now + this.#rate.windowMs;
    }
    address.failures += 1;
    // A credential that fails now, perhaps since it was revoked, is no longer known.
    if (this.#accepted.size + this.#acceptedBefore.size > 0) {
      const fingerprint = this.#fingerprint(head);
      this.#accepted.delete(fingerprint);
      this.#acceptedBefore.delete(fingerprint);
    }
  }

  /** After the end of a check: continues calls that wait, or refuses them if the limit is reached. */
  #settle(address: Address): void {
    const { key } = address;
    for (let waiter = this.#waiters.first(key); waiter !== undefined; waiter = this.#waiters.first(key)) {
      const hasRoom = this.#hasRoom(address);
      if (!hasRoom && address.failures < this.#rate.limit) return;
      this.#waiters.takeFrom(key);
      if (hasRoom) waiter.go();
      else waiter.refuse(this.#tooMany(address));
    }
    if (address.checking === 0 && address.failures === 0) this.#addresses.delete(address.key);
  }

  #accept<T extends object>(head: H, result: T): T {
    const now = this.#options.clock.now();
    const until = this.#results.get(result);
    const freshMs = (acceptedWindows - 1) * this.#rate.windowMs;
    if (until !== undefined && until - freshMs > now) return result;
    const knownUntil = now + acceptedWindows * this.#rate.windowMs;
    if (this.#accepted.size >= acceptedMax) {
      this.#acceptedBefore = this.#accepted;
      this.#accepted = new Map();
    }
    this.#accepted.set(this.#fingerprint(head), knownUntil);
    this.#results.set(result, knownUntil);
    return result;
  }

  #isKnown(head: H): boolean {
    const fingerprint = this.#fingerprint(head);
    const until = this.#accepted.get(fingerprint) ?? this.#acceptedBefore.get(fingerprint);
    return until !== undefined && until > this.#options.clock.now();
  }

  /** A copy of the head that notes which parts are read. */
  #watch(head: H): H {
    if (this.#watched >= watchedChecks) return head;
    this.#watched += 1;
    const readHeader = (name: string): string | undefined => {
      if (this.#names.size < namesMax && !this.#names.has(name)) {
        this.#names.add(name);
        this.#watched = 0;
      }
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
    let text = this.#secret;
    for (const name of this.#names) {
      const value = head.header(name);
      if (value !== undefined) text += JSON.stringify([name, value]);
    }
    if (this.#readsQuery && head.query !== undefined) text += JSON.stringify(["?", head.query]);
    if (this.#readsCertificate) text += JSON.stringify(["certificate", head.certificate?.()?.subject ?? ""]);
    return hash("sha256", text, "base64url");
  }

  #tooMany({ failures, endsAt }: Address): A2AError {
    const { limit, windowMs, text } = this.#rate;
    const isOver = failures >= limit;
    const remainingMs = endsAt - this.#options.clock.now();
    return new A2AError(
      "resourceExhausted",
      isOver
        ? `too many failed attempts to authenticate from this address: the limit is ${text} (rate.failedAttempts)`
        : `too many attempts to authenticate from this address at once: the limit of failed attempts is ${text} (rate.failedAttempts)`,
      {
        retryAfterMs: isOver ? Math.min(Math.max(remainingMs, 0), windowMs) : 1000,
        metadata: { limit: "rate.failedAttempts" },
      },
    );
  }
}
