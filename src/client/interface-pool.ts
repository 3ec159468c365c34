import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { OtherVersionError } from "../binding/transport.js";
import type { Clock } from "../protocol/async/clock.js";
import { grownPause } from "../protocol/async/retry.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import type { Operation } from "../protocol/operations.js";
import { type Connection, type InterfaceName, NoInterfaceError, type UnusedInterface } from "./connection.js";
import { isAnswer, isUnknownMethod, leadsOn, reasonOf } from "./failures.js";
import type { Attempt, InterfaceClient, OpenStream } from "./interface-client.js";
import { callWithin, probe } from "./probe.js";
import { allowanceOf } from "./timing.js";

export interface InterfacePoolOptions {
  /** All interfaces of the card in order of preference; uncallable ones with the reason. */
  readonly interfaces: readonly (InterfaceClient | UnusedInterface)[];
  readonly clock: Clock;
  /** Whether a call may be sent twice. */
  readonly isRepeatable: (operation: Operation, options: CallOptions) => boolean;
  /** Time limit of the probe of an unused interface while there are others. */
  readonly probeTimeoutMs: number;
  /** Called at every change of the connection. */
  readonly onConnection: ((connection: Connection) => void) | undefined;
}

/** An interface and its history. */
interface Candidate {
  readonly client: InterfaceClient;
  /** It has answered, so its answers come from the agent. */
  proven: boolean;
  /** It has answered in the form of its version, which is no longer a guess. */
  settled: boolean;
  /** It is skipped until this time. */
  restsUntil: number;
  /** Failures since its last answer. */
  failures: number;
  reason: string;
}

const restPauses = { firstMs: 30_000, maxMs: 600_000 };
const forGood = Number.MAX_SAFE_INTEGER;

interface Try {
  readonly candidate: Candidate;
  /** It must pass a probe first. */
  readonly needsProbe: boolean;
}

/** One call on its way through the interfaces. */
interface Round {
  readonly operation: Operation;
  readonly repeatable: boolean;
  readonly tries: Try[];
  /** Guessed versions that the agent does not speak. */
  readonly wrongGuesses: Candidate[];
}

// The last one is not probed: there is no other to fall back to.
function triesOf(order: readonly Candidate[]): Try[] {
  return order.map((candidate, index) => {
    const needsProbe = !candidate.proven && (index + 1 < order.length || candidate.client.isGuess);
    return { candidate, needsProbe };
  });
}

type Call<T> = (client: InterfaceClient, options: CallOptions) => Promise<T>;

/**
 * The interfaces of a card, tried in order: a failing one leads to the next and is skipped for a while. A call that may
 * have reached an agent is not sent to another interface unless it is safe to repeat. So an unused interface is probed
 * before it gets a message (design 7.3).
 */
export class InterfacePool implements Attempt {
  readonly #options: InterfacePoolOptions;
  readonly #candidates: readonly Candidate[];
  #connection: Connection | undefined;

  constructor(options: InterfacePoolOptions) {
    this.#options = options;
    this.#candidates = options.interfaces.flatMap((client) =>
      "reason" in client ? [] : [{ client, proven: false, settled: false, restsUntil: 0, failures: 0, reason: "" }],
    );
  }

  /** The interface that answered last; `undefined` before the first answer. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** Whether a call may be sent twice, over any interface. */
  isRepeatable(operation: Operation, options: CallOptions): boolean {
    return this.#options.isRepeatable(operation, options);
  }

  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
    return this.#callFirst(operation, options, (client, callOptions) => client.unary(operation, request, callOptions));
  }

  open(operation: Operation, request: AnyMessage, options: CallOptions, leaveSignal: AbortSignal): Promise<OpenStream> {
    return this.#callFirst(operation, options, (client, callOptions) =>
      client.open(operation, request, callOptions, leaveSignal),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#candidates.map(({ client }) => client.close()));
  }

  async #callFirst<T>(operation: Operation, options: CallOptions, call: Call<T>): Promise<T> {
    const { clock, probeTimeoutMs } = this.#options;
    const repeatable = this.isRepeatable(operation, options);
    const isRead = operation.idempotent && !operation.streams;
    const allowance = allowanceOf(options, clock);
    const failures: unknown[] = [];
    const round: Round = { operation, repeatable, tries: triesOf(this.#order(clock.now())), wrongGuesses: [] };
    // It may grow during iteration.
    for (const [index, { candidate, needsProbe }] of round.tries.entries()) {
      const { client } = candidate;
      // A probe must not use up the time of a call while other interfaces remain.
      const limitMs = Math.min(probeTimeoutMs, allowance.remainingMs() / (round.tries.length - index));
      const skipsProbe = needsProbe && isRead && !client.isGuess;
      let isProbing = needsProbe && !skipsProbe;
      try {
        if (isProbing) {
          await probe(client, { allowance, limitMs });
          candidate.proven = true;
        }
        isProbing = false;
        const reply = await (skipsProbe
          ? callWithin(allowance, limitMs, (callOptions) => call(client, callOptions))
          : call(client, allowance.next()));
        if (showsForm(operation)) candidate.settled = true;
        this.#recordAnswer(candidate, round.wrongGuesses);
        return reply;
      } catch (error) {
        if (!this.#leadsOn(error, { candidate, needsProbe: isProbing }, round)) throw error;
        failures.push(error);
      }
    }
    throw this.#unreachable(failures, repeatable);
  }

  // Whether a failure leads to the next interface. Records what it says about this one.
  #leadsOn(
    error: unknown,
    { candidate, needsProbe }: Try,
    { operation, repeatable, tries, wrongGuesses }: Round,
  ): boolean {
    const { client, settled, proven } = candidate;
    if (error instanceof OtherVersionError) {
      this.#rest(candidate, reasonOf(error));
      candidate.restsUntil = forGood;
      return repeatable;
    }
    if (client.isGuess && !settled && (needsProbe || isSend(operation)) && isUnknownMethod(error)) {
      this.#rest(candidate, reasonOf(error));
      wrongGuesses.push(candidate);
      // It may only lack the probe's method, so it gets the call if no other interface takes it.
      if (needsProbe) tries.push({ candidate, needsProbe: false });
      return true;
    }
    if (error instanceof ConnectionError || leadsOn(error, { repeatable: true, proven })) {
      this.#rest(candidate, reasonOf(error));
    } else if (isAnswer(error)) {
      this.#recordAnswer(candidate, wrongGuesses);
    }
    return leadsOn(error, { repeatable: needsProbe || repeatable, proven });
  }

  // In order of preference; recently failed ones come last, the oldest failure first. A version known to be wrong is
  // not called again: its answers would look like those of an agent that is merely down.
  #order(now: number): readonly Candidate[] {
    const available = this.#candidates.filter(({ restsUntil }) => restsUntil <= now);
    if (available.length === this.#candidates.length) return available;
    const unavailable = this.#candidates.filter(({ restsUntil }) => restsUntil > now && restsUntil !== forGood);
    return [...available, ...unavailable.sort((a, b) => a.restsUntil - b.restsUntil)];
  }

  #rest(candidate: Candidate, reason: string): void {
    candidate.proven = false;
    candidate.failures += 1;
    candidate.restsUntil = this.#options.clock.now() + grownPause(candidate.failures, restPauses);
    candidate.reason = reason;
  }

  // Guesses denied before the agent answered here are wrong for good.
  #recordAnswer(candidate: Candidate, wrongGuesses: readonly Candidate[]): void {
    for (const guess of wrongGuesses) guess.restsUntil = forGood;
    candidate.proven = true;
    candidate.restsUntil = 0;
    candidate.failures = 0;
    if (isSame(this.#connection, candidate.client.name)) return;
    const { interfaces } = this.#options;
    const before = interfaces.slice(0, interfaces.indexOf(candidate.client));
    this.#connection = { ...candidate.client.name, passedOver: this.#unusedOf(before) };
    this.#options.onConnection?.(this.#connection);
  }

  #unreachable(failures: readonly unknown[], repeatable: boolean): unknown {
    const [first] = failures;
    if (first !== undefined && failures.every((error) => saysTheSame(error, first))) return first;
    // A call that is not repeatable got here only because none of it was sent.
    const written = repeatable && failures.some((error) => error instanceof ConnectionError && error.written);
    return new NoInterfaceError(this.#unusedOf(this.#options.interfaces), failures, written);
  }

  #unusedOf(interfaces: InterfacePoolOptions["interfaces"]): readonly UnusedInterface[] {
    const reasons = new Map(this.#candidates.map(({ client, reason }) => [client, reason]));
    return interfaces.map((each) => ("reason" in each ? each : { ...each.name, reason: reasons.get(each) ?? "" }));
  }
}

// An answer that is the same at every interface is the agent's answer.
function saysTheSame(error: unknown, first: unknown): boolean {
  if (!(error instanceof A2AError) || !(first instanceof A2AError) || error instanceof ConnectionError) return false;
  return error.code === first.code && error.metadata["httpStatus"] === undefined;
}

/** Whether an operation's answers reveal their version. */
function showsForm({ output: { typeName } }: Operation): boolean {
  return /\.(?:Task|SendMessageResponse|StreamResponse)$/.test(typeName);
}

function isSend({ input }: Operation): boolean {
  return input.typeName === "lf.a2a.v1.SendMessageRequest";
}

function isSame(connection: Connection | undefined, { binding, url, version }: InterfaceName): boolean {
  return connection?.url === url && connection.binding === binding && connection.version === version;
}
