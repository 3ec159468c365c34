import { type Message as AnyMessage, isMessage } from "@bufbuild/protobuf";
import { noop } from "../protocol/async/noop.js";
import type { CallQuota, Principal } from "../protocol/context.js";
import { ownerKey } from "../protocol/fair-share.js";
import { type Message, SendMessageRequestSchema } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import type { Slot, Slots } from "../protocol/slots.js";
import type { Claim, ClaimOutcome, Counters, LimitBalance } from "./counters.js";
import { joinFields, rateFields } from "./fields.js";
import {
  type CallerKind,
  type ConcurrencyLimit,
  type LimitGroup,
  type LimitTable,
  overConcurrency,
  overLimit,
  type WindowLimit,
} from "./limits.js";

// Rate limits of calls, new tasks, bytes, turns, streams and tokens, per address, tenant, owner, operation and skill.
//
// A call is counted as soon as it is known what counts: for its address before authentication (`arrive`), for its
// operation, skill and bytes once the request is decoded (`admit`). In between, a known caller whose bytes are used up
// is refused before more are read (`checkCaller`). What only the operation knows goes with the context of the call
// (`CallQuota`): new tasks are counted in `core/send/send.ts`, before the record of an idempotent send; turns take
// their slots in `core/turn-slots.ts`; tokens are charged by the turn. Failed attempts to authenticate are in
// `failed-attempts.ts`.

export interface RatedCallsOptions {
  readonly table: LimitTable;
  readonly counters: Counters;
  /** Of the streams. */
  readonly slots: Slots;
  /** The agent's id. */
  readonly agent: string;
  /** Distinguishes the agent's callers from those of others on the server. */
  readonly realm: string;
  readonly skillOf: (message: Message) => string | undefined;
  /** Throws for a message with an invalid `skillId`. */
  readonly checkSkill?: ((message: Message) => void) | undefined;
  /** The tenants that a caller without one may name. */
  readonly tenants: ReadonlySet<string>;
}

/** A turn that charges a budget. */
export interface ChargingTurn {
  readonly scope: { readonly tenant: string; readonly owner: string };
  readonly message: Message;
}

/** A decoded call. */
export interface DecodedCall {
  readonly principal: Principal;
  readonly operation: Operation;
  readonly request: AnyMessage;
  /** Size of the request as it was sent. */
  readonly bytes: number;
}

/** The callers that a call counts for. */
type Subject = { readonly [W in Exclude<CallerKind, "all">]?: string | undefined };

/** The limits of the calls of one operation, for a message to one skill, by when they hold. */
interface CallPlan {
  readonly admission: readonly WindowLimit[];
  readonly task: readonly WindowLimit[];
  readonly tokens: readonly WindowLimit[];
  readonly turns: readonly ConcurrencyLimit[];
  readonly streams: readonly ConcurrencyLimit[];
}

/** Holds calls to the limits of their callers. */
export class RatedCalls {
  readonly options: RatedCallsOptions;
  /** Limits of the address, before the caller is known. */
  readonly arrivalLimits: readonly WindowLimit[];
  /** Limits of a known caller, before its request is read. */
  readonly callerLimits: readonly WindowLimit[];
  readonly #plans = new Map<LimitGroup | undefined, Map<LimitGroup | undefined, CallPlan>>();

  constructor(options: RatedCallsOptions) {
    this.options = options;
    const { windows } = options.table.general;
    this.arrivalLimits = windows.filter(
      ({ callerKind, resource }) => callerKind === "address" && (resource === "requests" || resource === "bytes"),
    );
    this.callerLimits = windows.filter(({ callerKind, resource }) => callerKind !== "address" && resource === "bytes");
  }

  /** A call from an address, if it has one. */
  open(address: string | undefined): RatedCall {
    return new RatedCall(this, address);
  }

  /** Counts the tokens of a turn, even if fewer are left. */
  async charge({ scope, message }: ChargingTurn, tokens: number): Promise<{ readonly left: number }> {
    const { tokens: budgets } = this.planFor(undefined, message);
    const claims = this.createClaims(budgets, { owner: ownerKey(scope), tenant: scope.tenant }, tokens);
    const balances = claims.length === 0 ? [] : await this.options.counters.charge(claims);
    return { left: Math.min(Number.POSITIVE_INFINITY, ...balances.map(({ left }) => left)) };
  }

  planFor(operation: Operation | undefined, message: Message | undefined): CallPlan {
    const { operations, skills } = this.options.table;
    const ofOperation = operation && operations.get(operation.name);
    const skill = message === undefined || skills.size === 0 ? undefined : this.options.skillOf(message);
    const ofSkill = skill === undefined ? undefined : skills.get(skill);
    return this.#plans.get(ofOperation)?.get(ofSkill) ?? this.#addPlan(ofOperation, ofSkill);
  }

  /** Claims of a call on each limit. `used`: the bytes or tokens that it has used already. */
  createClaims(limits: readonly WindowLimit[], subject: Subject, used: number): readonly Claim[] {
    const claims: Claim[] = [];
    for (const limit of limits) {
      const key = this.#findKey(limit, subject);
      const isUsed = limit.resource === "bytes" || limit.resource === "tokens";
      if (key !== undefined) claims.push({ limit, key, amount: isUsed ? used : 1, isUsed });
    }
    return claims;
  }

  slotsFor(limits: readonly ConcurrencyLimit[], subject: Subject): readonly Slot[] {
    const slots: Slot[] = [];
    for (const limit of limits) {
      const key = this.#findKey(limit, subject);
      if (key === undefined) continue;
      // Slots of all agents of a process are counted together.
      const own = limit.ofServer ? key : `agent ${this.options.agent}\n${key}`;
      slots.push({ key: own, max: limit.max, refusal: () => overConcurrency(limit) });
    }
    return slots;
  }

  #findKey({ name, callerKind, ofServer }: WindowLimit | ConcurrencyLimit, subject: Subject): string | undefined {
    if (callerKind === "all") return name;
    const caller = subject[callerKind];
    if (caller === undefined) return undefined;
    return ofServer && callerKind !== "address" ? `${name}\n${this.options.realm}\n${caller}` : `${name}\n${caller}`;
  }

  #addPlan(operationGroup: LimitGroup | undefined, skillGroup: LimitGroup | undefined): CallPlan {
    const { general } = this.options.table;
    const groups = [general, operationGroup, skillGroup].filter((group) => group !== undefined);
    const windows = groups.flatMap((group) => group.windows);
    const concurrency = groups.flatMap((group) => group.concurrency);
    // Requests of an address are counted when they arrive.
    const isCounted = (limit: WindowLimit): boolean =>
      limit.resource === "requests" && this.arrivalLimits.includes(limit);
    const plan: CallPlan = {
      admission: windows.filter(
        (limit) => (limit.resource === "requests" || limit.resource === "bytes") && !isCounted(limit),
      ),
      task: windows.filter(({ resource }) => resource === "tasks" || resource === "tokens"),
      tokens: windows.filter(({ resource }) => resource === "tokens"),
      turns: concurrency.filter(({ resource }) => resource === "turns"),
      streams: concurrency.filter(({ resource }) => resource === "streams"),
    };
    const plans = this.#plans.get(operationGroup) ?? new Map<LimitGroup | undefined, CallPlan>();
    this.#plans.set(operationGroup, plans.set(skillGroup, plan));
    return plan;
  }
}

/**
 * One call on its way through the limits. Each step throws `resourceExhausted`, or rejects with it, when one is reached.
 */
export class RatedCall {
  readonly #calls: RatedCalls;
  readonly #address: string | undefined;
  readonly #balances = new Map<WindowLimit, LimitBalance>();
  /** Taken for the stream of the call. */
  #streamSlots: readonly Slot[] = [];
  #hasEnded = false;
  /** Those of the same call at the server. */
  #fieldsBefore: Readonly<Record<string, string>> | undefined;

  constructor(calls: RatedCalls, address: string | undefined) {
    this.#calls = calls;
    this.#address = address;
  }

  /** The fields of the reply that say what the caller has left. */
  get fields(): Readonly<Record<string, string>> {
    const fields = rateFields(this.#balances.values());
    return this.#fieldsBefore === undefined ? fields : joinFields(this.#fieldsBefore, fields);
  }

  /** Counts the call for its address, before anything else is known. */
  arrive(before?: { readonly fields: Readonly<Record<string, string>> }): Promise<unknown> | undefined {
    const { arrivalLimits } = this.#calls;
    this.#fieldsBefore = before?.fields;
    const limits = before === undefined ? arrivalLimits : arrivalLimits.filter(({ ofServer }) => !ofServer);
    return promiseIn(this.#take(this.#calls.createClaims(limits, { address: this.#address }, 0)));
  }

  /** Refuses a known caller whose bytes are used up, before more are read. */
  checkCaller(principal: Principal): Promise<unknown> | undefined {
    const subject = { owner: ownerKey(principal), tenant: principal.tenant ?? "" };
    return promiseIn(this.#take(this.#calls.createClaims(this.#calls.callerLimits, subject, 0)));
  }

  /** Counts a decoded call. A stream holds its slots until `leave`. */
  admit({ principal, operation, request, bytes }: DecodedCall): CallQuota | Promise<CallQuota> {
    const message = isMessage(request, SendMessageRequestSchema) ? request.message : undefined;
    const { table, checkSkill } = this.#calls.options;
    if (message !== undefined && table.skills.size > 0) checkSkill?.(message);
    const plan = this.#calls.planFor(operation, message);
    const subject = this.#createSubject(principal, request);
    if (operation.streams) this.#enterStream(this.#calls.slotsFor(plan.streams, subject));
    const taken = this.#take(this.#calls.createClaims(plan.admission, subject, bytes));
    const ofTask = message === undefined ? [] : this.#calls.createClaims(plan.task, subject, 0);
    const quota: CallQuota = {
      turns: this.#calls.slotsFor(plan.turns, subject),
      newTask: ofTask.length === 0 ? undefined : () => this.#take(ofTask),
    };
    return taken instanceof Promise ? taken.then(() => quota) : quota;
  }

  /** The call has ended. */
  leave(): void {
    this.#hasEnded = true;
    this.#calls.options.slots.free(this.#streamSlots);
    this.#streamSlots = [];
  }

  #enterStream(slots: readonly Slot[]): void {
    const refusal = this.#calls.options.slots.refusal(slots);
    if (refusal !== undefined) throw refusal;
    if (this.#hasEnded) return;
    this.#calls.options.slots.take(slots);
    this.#streamSlots = slots;
  }

  #take(claims: readonly Claim[]): Promise<() => void> | (() => void) {
    if (claims.length === 0) return noop;
    const outcome = this.#calls.options.counters.take(claims);
    return outcome instanceof Promise ? outcome.then((late) => this.#note(late)) : this.#note(outcome);
  }

  #note({ refusal, balances, undo }: ClaimOutcome): () => void {
    for (const balance of balances) this.#balances.set(balance.limit, balance);
    if (refusal !== undefined) throw overLimit(refusal.limit, refusal.endsInMs);
    return undo;
  }

  // A tenant that does not exist must not get a count of its own.
  #createSubject({ owner, tenant: own = "" }: Principal, request: AnyMessage): Subject {
    const requested = "tenant" in request && typeof request.tenant === "string" ? request.tenant : "";
    const tenant = own === "" && this.#calls.options.tenants.has(requested) ? requested : own;
    return { owner: ownerKey({ tenant, owner }), tenant, address: this.#address };
  }
}

function promiseIn<T>(taken: T | Promise<T>): Promise<T> | undefined {
  return taken instanceof Promise ? taken : undefined;
}
