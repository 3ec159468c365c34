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
  readonly #records = new Map<string, RememberedSend>();
  #bytes = 0;

  constructor(limits: SendLimits, clock: Clock, isLive: (instance: string) => boolean) {
    this.#limits = limits;
    this.#clock = clock;
    this.#isLive = isLive;
  }

  begin(send: NewSend): SendRecord {
    this.#dropOld();
    const key = makeKey(send.scope, send.messageId);
    const existing = this.#records.get(key);
    if (existing !== undefined) return this.#toRecord(existing);
    const bytes = recordBytes + 2 * key.length + send.taskId.length + send.entry.length + send.digest.length;
    const record = { send, at: this.#clock.now(), instance: send.instance, attempt: 1, outcome: undefined, bytes };
    this.#records.set(key, record);
    this.#bytes += bytes;
    this.#makeRoom();
    return this.#toRecord(record);
  }

  read(scope: Scope, messageId: string): SendRecord | undefined {
    this.#dropOld();
    const record = this.#records.get(makeKey(scope, messageId));
    return record === undefined ? undefined : this.#toRecord(record);
  }

  take(claim: SendClaim, instance: string): boolean {
    const record = this.#find(claim);
    if (record === undefined || record.outcome !== undefined) return false;
    record.instance = instance;
    record.attempt += 1;
    return true;
  }

  settle(claim: SendClaim, outcome: SentOutcome, bytes: number): boolean {
    const record = this.#find(claim);
    if (record === undefined) return false;
    if (record.outcome !== undefined) return true;
    record.outcome = outcome;
    record.bytes += bytes;
    this.#bytes += bytes;
    this.#makeRoom();
    return true;
  }

  forget(claim: SendClaim): boolean {
    if (this.#find(claim) === undefined) return false;
    this.#drop(makeKey(claim.scope, claim.messageId));
    return true;
  }

  clear(): void {
    this.#records.clear();
    this.#bytes = 0;
  }

  #find({ scope, messageId, entry, attempt }: SendClaim): RememberedSend | undefined {
    const record = this.#records.get(makeKey(scope, messageId));
    return record?.send.entry === entry && record.attempt === attempt ? record : undefined;
  }

  #toRecord({ send, instance, attempt, outcome }: RememberedSend): SendRecord {
    return { ...send, instance, attempt, outcome, live: this.#isLive(instance) };
  }

  #dropOld(): void {
    const oldest = this.#clock.now() - this.#limits.sendsMaxAgeMs;
    for (const [key, { at }] of this.#records) {
      if (at > oldest) return;
      this.#drop(key);
    }
  }

  #makeRoom(): void {
    const { sendsMax, sendsMaxBytes } = this.#limits;
    for (const key of this.#records.keys()) {
      if (this.#records.size <= sendsMax && this.#bytes <= sendsMaxBytes) return;
      this.#drop(key);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#records.get(key)?.bytes ?? 0;
    this.#records.delete(key);
  }
}

function makeKey({ agent, tenant, owner }: Scope, messageId: string): string {
  return JSON.stringify([agent, tenant, owner, messageId]);
}
