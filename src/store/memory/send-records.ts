import type { Clock, NewSend, SendClaim, SendRecord, SentOutcome } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";

/** How many sends a memory store remembers, and for how long. */
export interface SendLimits {
  readonly sendsMax: number;
  readonly sendsMaxAgeMs: number;
  readonly sendsMaxBytes: number;
}

interface RememberedSend {
  readonly send: NewSend;
  readonly at: number;
  instance: string;
  attempt: number;
  outcome: SentOutcome | undefined;
  bytes: number;
}

/** Approximate cost of a record besides its texts and its outcome. */
const recordBytes = 512;

/** The records of idempotent sends in order of arrival, so that the oldest are dropped first. */
export class SendRecords {
  readonly #limits: SendLimits;
  readonly #clock: Clock;
  readonly #isLive: (instance: string) => boolean;
  readonly #kept = new Map<string, RememberedSend>();
  #bytes = 0;

  constructor(limits: SendLimits, clock: Clock, isLive: (instance: string) => boolean) {
    this.#limits = limits;
    this.#clock = clock;
    this.#isLive = isLive;
  }

  begin(send: NewSend): SendRecord {
    this.#dropOld();
    const key = keyOf(send.scope, send.messageId);
    const known = this.#kept.get(key);
    if (known !== undefined) return this.#shown(known);
    const bytes = recordBytes + 2 * key.length + send.taskId.length + send.entry.length + send.digest.length;
    const kept = { send, at: this.#clock.now(), instance: send.instance, attempt: 1, outcome: undefined, bytes };
    this.#kept.set(key, kept);
    this.#bytes += bytes;
    this.#makeRoom();
    return this.#shown(kept);
  }

  read(scope: Scope, messageId: string): SendRecord | undefined {
    this.#dropOld();
    const kept = this.#kept.get(keyOf(scope, messageId));
    return kept === undefined ? undefined : this.#shown(kept);
  }

  take(claim: SendClaim, instance: string): boolean {
    const kept = this.#claimed(claim);
    if (kept === undefined || kept.outcome !== undefined) return false;
    kept.instance = instance;
    kept.attempt += 1;
    return true;
  }

  settle(claim: SendClaim, outcome: SentOutcome, bytes: number): boolean {
    const kept = this.#claimed(claim);
    if (kept === undefined) return false;
    if (kept.outcome !== undefined) return true;
    kept.outcome = outcome;
    kept.bytes += bytes;
    this.#bytes += bytes;
    this.#makeRoom();
    return true;
  }

  forget(claim: SendClaim): boolean {
    if (this.#claimed(claim) === undefined) return false;
    this.#drop(keyOf(claim.scope, claim.messageId));
    return true;
  }

  clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  #claimed({ scope, messageId, entry, attempt }: SendClaim): RememberedSend | undefined {
    const kept = this.#kept.get(keyOf(scope, messageId));
    return kept?.send.entry === entry && kept.attempt === attempt ? kept : undefined;
  }

  #shown({ send, instance, attempt, outcome }: RememberedSend): SendRecord {
    return { ...send, instance, attempt, outcome, live: this.#isLive(instance) };
  }

  #dropOld(): void {
    const oldest = this.#clock.now() - this.#limits.sendsMaxAgeMs;
    for (const [key, { at }] of this.#kept) {
      if (at > oldest) return;
      this.#drop(key);
    }
  }

  #makeRoom(): void {
    const { sendsMax, sendsMaxBytes } = this.#limits;
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= sendsMax && this.#bytes <= sendsMaxBytes) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

function keyOf({ agent, tenant, owner }: Scope, messageId: string): string {
  return JSON.stringify([agent, tenant, owner, messageId]);
}
