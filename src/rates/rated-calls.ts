import { type Message as AnyMessage, isMessage } from "@bufbuild/protobuf";
import { noop } from "../protocol/async/noop.js";
import { createPlaces, type Place, type Places } from "../protocol/async/places.js";
import type { CallQuota, Principal } from "../protocol/context.js";
import { type Message, SendMessageRequestSchema } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import type { Claim, Counters, Standing } from "./counters.js";
import { rateFields } from "./fields.js";
import {
  type LimitGroup,
  type LimitTable,
  overLimit,
  overPlaces,
  type PlaceLimit,
  type Who,
  type WindowLimit,
} from "./limits.js";

export interface RatedCallsOptions {
  readonly table: LimitTable;
  readonly counters: Counters;
  readonly skillOf: (message: Message) => string | undefined;
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

/** Whom the limits of a call count it for. */
type Subject = { readonly [W in Exclude<Who, "all">]?: string | undefined };

/** Holds calls to limits by who is asking. */
export class RatedCalls {
  readonly options: RatedCallsOptions;
  readonly places: Places = createPlaces();

  constructor(options: RatedCallsOptions) {
    this.options = options;
  }

  /** A call from an address, if it has one. */
  open(address: string | undefined): RatedCall {
    return new RatedCall(this, address);
  }

  /** Counts the tokens of a turn, whether or not so many are left. */
  async charge(
    { scope: { tenant, owner }, message }: ChargingTurn,
    tokens: number,
  ): Promise<{ readonly left: number }> {
    const subject = { owner: `${tenant}\n${owner}`, tenant };
    const claims = this.windowsOf([this.options.table.general, this.skillGroup(message)], subject)
      .filter(({ limit: { what } }) => what === "tokens")
      .map((claim) => ({ ...claim, amount: tokens }));
    const standings = claims.length === 0 ? [] : await this.options.counters.charge(claims);
    return { left: Math.min(Number.POSITIVE_INFINITY, ...standings.map(({ left }) => left)) };
  }

  skillGroup(message: Message | undefined): LimitGroup | undefined {
    const { skillOf, table } = this.options;
    if (message === undefined || table.skills.size === 0) return undefined;
    const skill = skillOf(message);
    return skill === undefined ? undefined : table.skills.get(skill);
  }

  /** Claims on nothing yet, for each limit that counts such a subject. */
  windowsOf(groups: readonly (LimitGroup | undefined)[], subject: Subject): readonly Claim[] {
    return groups
      .flatMap((group) => group?.windows ?? [])
      .flatMap((limit) => {
        const key = keyOf(limit, subject);
        return key === undefined ? [] : [{ limit, key, amount: 0, isUsed: true }];
      });
  }

  placesOf(groups: readonly (LimitGroup | undefined)[], subject: Subject, kind: PlaceLimit["what"]): readonly Place[] {
    return groups
      .flatMap((group) => group?.places ?? [])
      .filter(({ what }) => what === kind)
      .flatMap((limit) => {
        const key = keyOf(limit, subject);
        return key === undefined ? [] : [{ key, max: limit.max, refusal: () => overPlaces(limit) }];
      });
  }
}

function keyOf({ name, who }: WindowLimit | PlaceLimit, subject: Subject): string | undefined {
  if (who === "all") return name;
  const caller = subject[who];
  return caller === undefined ? undefined : `${name}\n${caller}`;
}

/** One call on its way through the limits. Each step throws `resourceExhausted` when one is reached. */
export class RatedCall {
  readonly #calls: RatedCalls;
  readonly #address: string | undefined;
  readonly #standings = new Map<WindowLimit, Standing>();
  #leaveStream: () => void = noop;
  #hasEnded = false;

  constructor(calls: RatedCalls, address: string | undefined) {
    this.#calls = calls;
    this.#address = address;
  }

  /** The fields of the reply that say what the caller has left. */
  get fields(): Readonly<Record<string, string>> {
    return rateFields([...this.#standings.values()]);
  }

  /** Counts the call for its address, before anything else is known. */
  arrive(): Promise<void> {
    return this.#check({ address: this.#address }, "requests");
  }

  /** Refuses a known caller whose bytes are used up, before more are read. */
  identified({ owner, tenant = "" }: Principal): Promise<void> {
    return this.#check({ owner: `${tenant}\n${owner}`, tenant }, undefined);
  }

  // The limits of all calls, as far as they need no request.
  async #check(subject: Subject, counted: WindowLimit["what"] | undefined): Promise<void> {
    const claims = this.#calls
      .windowsOf([this.#calls.options.table.general], subject)
      .filter(({ limit: { who } }) => counted === undefined || who === "address")
      .filter(({ limit: { what } }) => what === "bytes" || what === counted);
    await this.#take(claims.map((claim) => (claim.limit.what === counted ? one(claim) : claim)));
  }

  /** Counts a decoded call. A stream holds its places until `leave`. */
  async admit({ principal, operation, request, bytes }: DecodedCall): Promise<CallQuota> {
    const calls = this.#calls;
    const message = isMessage(request, SendMessageRequestSchema) ? request.message : undefined;
    const { general, operations } = calls.options.table;
    const ofSkill = calls.skillGroup(message);
    const groups = [general, operations.get(operation.name), ofSkill];
    const subject = this.#subjectOf(principal, request);
    if (operation.streams) this.#enterStream(calls.placesOf(groups, subject, "streams"));
    const claims = calls.windowsOf(groups, subject).flatMap((claim) => {
      const { limit } = claim;
      if (limit.what === "bytes") return [{ ...claim, amount: bytes }];
      // Those of the address were counted when the call arrived.
      const isCounted = limit.who === "address" && general.windows.includes(limit);
      return limit.what === "requests" && !isCounted ? [one(claim)] : [];
    });
    await this.#take(claims);
    const turnGroups = [general, ofSkill];
    const ofTask = calls
      .windowsOf(turnGroups, subject)
      .filter(({ limit: { what } }) => what === "tasks" || what === "tokens")
      .map((claim) => (claim.limit.what === "tasks" ? one(claim) : claim));
    return {
      turns: calls.placesOf(turnGroups, subject, "turns"),
      newTask: ofTask.length === 0 ? undefined : () => this.#take(ofTask),
    };
  }

  /** The call has ended. */
  leave(): void {
    this.#hasEnded = true;
    this.#leaveStream();
  }

  #enterStream(places: readonly Place[]): void {
    const refusal = this.#calls.places.refusal(places);
    if (refusal !== undefined) throw refusal;
    if (!this.#hasEnded) this.#leaveStream = this.#calls.places.take(places);
  }

  async #take(claims: readonly Claim[]): Promise<() => void> {
    if (claims.length === 0) return noop;
    const { refused, standings, undo } = await this.#calls.options.counters.take(claims);
    for (const standing of standings) this.#standings.set(standing.limit, standing);
    if (refused !== undefined) throw overLimit(refused.limit, refused.endsInMs);
    return undo;
  }

  // A tenant that does not exist must not give its caller a count of its own.
  #subjectOf({ owner, tenant: own = "" }: Principal, request: AnyMessage): Subject {
    const wished = "tenant" in request && typeof request.tenant === "string" ? request.tenant : "";
    const tenant = own === "" && this.#calls.options.tenants.has(wished) ? wished : own;
    return { owner: `${tenant}\n${owner}`, tenant, address: this.#address };
  }
}

function one(claim: Claim): Claim {
  return { ...claim, amount: 1, isUsed: false };
}
