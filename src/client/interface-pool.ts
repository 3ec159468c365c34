import { type Message as AnyMessage, create } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import { type Operation, operationOf } from "../protocol/operations.js";
import { randomUuid } from "../protocol/uuid.js";
import { type Connection, type InterfaceName, NoInterfaceError, type PassedOver } from "./connection.js";
import { type Circumstances, isAnswer, leadsOn, reasonOf } from "./failures.js";
import type { Attempt, InterfaceClient, OpenStream } from "./interface-client.js";
import { type Allowance, allowanceOf, type ClientClock } from "./timing.js";

export interface InterfacePoolOptions {
  /** In the order of preference. */
  readonly interfaces: readonly InterfaceClient[];
  /** Interfaces of the card that this client has no transport for. */
  readonly unusable: readonly PassedOver[];
  readonly clock: ClientClock;
  /** Whether a call may be sent twice. */
  readonly isRepeatable: (operation: Operation) => boolean;
  /** How long the question to an interface that was never used may take, while there are others. */
  readonly probeTimeoutMs: number;
  /** Hears of every change of the connection. */
  readonly onConnection: ((connection: Connection) => void) | undefined;
}

/** An interface, and what was learnt of it. */
interface Candidate {
  readonly client: InterfaceClient;
  /** It has answered, so what it says is said by the agent. */
  proven: boolean;
  /** Until when it is left alone. */
  restsUntil: number;
  restMs: number;
  reason: string;
}

const firstRestMs = 30_000;
const maxRestMs = 600_000;

type Call<T> = (client: InterfaceClient, options: CallOptions) => Promise<T>;

/**
 * The interfaces of a card, tried in order: one that does not work leads to the next and is left alone for a while. A call
 * that may have reached an agent is not sent to another interface, unless it may be repeated; therefore an interface that
 * was never used is asked something harmless before it is trusted with a message (design 7.3).
 */
export class InterfacePool implements Attempt {
  readonly #options: InterfacePoolOptions;
  readonly #candidates: readonly Candidate[];
  #connection: Connection | undefined;

  constructor(options: InterfacePoolOptions) {
    this.#options = options;
    this.#candidates = options.interfaces.map((client) => ({
      client,
      proven: false,
      restsUntil: 0,
      restMs: firstRestMs,
      reason: "",
    }));
  }

  /** The interface that answered last; `undefined` before the first answer. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
    return this.#first(operation, options, (client, left) => client.unary(operation, request, left));
  }

  open(operation: Operation, request: AnyMessage, options: CallOptions, left: AbortSignal): Promise<OpenStream> {
    return this.#first(operation, options, (client, now) => client.open(operation, request, now, left));
  }

  async close(): Promise<void> {
    await Promise.all(this.#candidates.map(({ client }) => client.close()));
  }

  async #first<T>(operation: Operation, options: CallOptions, call: Call<T>): Promise<T> {
    const { clock, isRepeatable } = this.#options;
    const repeatable = isRepeatable(operation);
    const reads = operation.idempotent && !operation.streams;
    const order = this.#order(clock.now());
    const allowance = allowanceOf(options, clock);
    const failures: unknown[] = [];
    for (const [index, candidate] of order.entries()) {
      const asks = !candidate.proven && index + 1 < order.length;
      // One that was never heard of must not take the time of a call while others wait.
      const limitMs = Math.min(this.#options.probeTimeoutMs, allowance.left() / (order.length - index));
      let harmless = true;
      try {
        if (asks && !reads) await this.#probe(candidate, allowance, limitMs);
        harmless = repeatable;
        const reply = await (asks && reads
          ? hurried(allowance, limitMs, (left) => call(candidate.client, left))
          : call(candidate.client, allowance.next()));
        this.#answered(candidate);
        return reply;
      } catch (error) {
        if (!this.#goesOn(candidate, error, { repeatable: harmless, proven: candidate.proven })) throw error;
        failures.push(error);
      }
    }
    throw this.#nobody(order, failures, repeatable);
  }

  // Asks for a task that does not exist: whatever an agent says to that shows that it is there.
  async #probe(candidate: Candidate, allowance: Allowance, limitMs: number): Promise<void> {
    const operation = operationOf("getTask");
    const request = Object.assign(create(operation.input), { id: randomUuid() });
    try {
      await hurried(allowance, limitMs, (left) => candidate.client.unary(operation, request, left));
    } catch (error) {
      if (!isAnswer(error) || leadsOn(error, { repeatable: true, proven: false })) throw error;
    }
    candidate.proven = true;
  }

  // In the order of preference; those that failed lately come last, the longest ago first.
  #order(now: number): readonly Candidate[] {
    const rested = this.#candidates.filter(({ restsUntil }) => restsUntil <= now);
    if (rested.length === this.#candidates.length) return rested;
    const resting = this.#candidates.filter(({ restsUntil }) => restsUntil > now);
    return [...rested, ...resting.sort((a, b) => a.restsUntil - b.restsUntil)];
  }

  #goesOn(candidate: Candidate, error: unknown, circumstances: Circumstances): boolean {
    const leads = leadsOn(error, circumstances);
    if (error instanceof ConnectionError || leadsOn(error, { ...circumstances, repeatable: true })) {
      this.#rest(candidate, reasonOf(error));
    } else if (isAnswer(error)) {
      this.#answered(candidate);
    }
    return leads;
  }

  #rest(candidate: Candidate, reason: string): void {
    candidate.proven = false;
    candidate.restsUntil = this.#options.clock.now() + candidate.restMs;
    candidate.restMs = Math.min(candidate.restMs * 2, maxRestMs);
    candidate.reason = reason;
  }

  #answered(candidate: Candidate): void {
    candidate.proven = true;
    candidate.restsUntil = 0;
    candidate.restMs = firstRestMs;
    if (isSame(this.#connection, candidate.client.name)) return;
    const before = this.#candidates.slice(0, this.#candidates.indexOf(candidate));
    const passedOver = before.map(({ client: { name }, reason }) => ({ ...name, reason }));
    this.#connection = { ...candidate.client.name, passedOver: [...this.#options.unusable, ...passedOver] };
    this.#options.onConnection?.(this.#connection);
  }

  #nobody(tried: readonly Candidate[], failures: readonly unknown[], repeatable: boolean): unknown {
    const [first] = failures;
    if (first !== undefined && failures.every((error) => saysTheSame(error, first))) return first;
    const passedOver = tried.map(({ client: { name }, reason }) => ({ ...name, reason }));
    // What must not be repeated has got here only because none of it was sent.
    const written = repeatable && failures.some((error) => error instanceof ConnectionError && error.written);
    return new NoInterfaceError([...this.#options.unusable, ...passedOver], failures, written);
  }
}

/** A call that has to be answered within a part of its time. That it was not says nothing of the call's own deadline. */
async function hurried<T>(
  allowance: Allowance,
  limitMs: number,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const options = allowance.next();
  const timeoutMs = Math.ceil(Math.min(options.timeoutMs ?? limitMs, limitMs));
  try {
    return await call({ ...options, timeoutMs });
  } catch (error) {
    const isLate = error instanceof A2AError && error.code === "deadlineExceeded" && allowance.left() > 0;
    throw isLate ? new ConnectionError(`no answer within ${timeoutMs} ms`, { written: true, cause: error }) : error;
  }
}

// What the agent says at every interface is its answer.
function saysTheSame(error: unknown, first: unknown): boolean {
  if (!(error instanceof A2AError) || !(first instanceof A2AError) || error instanceof ConnectionError) return false;
  return error.code === first.code && error.metadata["httpStatus"] === undefined;
}

function isSame(connection: Connection | undefined, { binding, url, version }: InterfaceName): boolean {
  return connection?.url === url && connection.binding === binding && connection.version === version;
}
