import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { OtherVersionError } from "../binding/transport.js";
import type { Clock } from "../protocol/async/clock.js";
import { backoffMs } from "../protocol/async/retry.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import { typeNames } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import { declaresVersion } from "../version/traits.js";
import {
  type Connection,
  createConnection,
  type InterfaceName,
  NoInterfaceError,
  type UnusedInterface,
} from "./connection.js";
import {
  describeFailure,
  isAgentAnswer,
  isUnknownMethod,
  readForeignStatus,
  shouldTryNextInterface,
} from "./failures.js";
import type { Attempt, InterfaceClient, OpenStream } from "./interface-client.js";
import { callWithin, startAllowance } from "./timing.js";

// The interfaces of a card, and which of them serves a call. A call makes one round through them, in the order of
// preference; those that failed a short time ago come last and pause for 30 s, then twice as long after each failure.
//
// An interface is unproven until it has answered. While there are others, an unproven one is tried by a probe, or by the
// call itself in a part of its time. A guessed version is settled by the first answer in its form. A call that must not be
// sent twice goes on to the next interface only if the last one did nothing (`shouldTryNextInterface`).

export interface InterfacePoolOptions {
  /** All interfaces of the card in order of preference; uncallable ones with the reason. */
  readonly interfaces: readonly (InterfaceClient | UnusedInterface)[];
  readonly clock: Clock;
  /** Whether a call may be sent twice. */
  readonly isRepeatable: (operation: Operation, options: CallOptions) => boolean;
  /** Time limit of the trial of an unproven interface while there are others. */
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
  retryAt: number;
  /** Failures since its last answer. */
  failures: number;
  /** It failed, or a call to it was given up, since its last answer. */
  suspect?: boolean;
  reason: string;
}

const suspensionBackoff = { firstMs: 30_000, maxMs: 600_000 };
const forGood = Number.MAX_SAFE_INTEGER;

interface Try {
  readonly candidate: Candidate;
  /** How an unproven interface is tried out: by a probe, or by the call itself in a part of its time. */
  readonly trial: "probe" | "call" | undefined;
}

/** One call on its way through the interfaces. */
interface Round {
  readonly operation: Operation;
  readonly repeatable: boolean;
  readonly tries: Try[];
  /** Guessed versions that the agent does not speak. */
  readonly wrongGuesses: Candidate[];
}

function planTries(
  order: readonly Candidate[],
  { operation, repeatable }: Pick<Round, "operation" | "repeatable">,
): Try[] {
  const isRead = operation.idempotent && !operation.streams;
  return order.map((candidate, index): Try => {
    const { client, proven, suspect } = candidate;
    // The last one needs no trial: there is no other to fall back to.
    if (proven || (index + 1 === order.length && !client.isGuess)) return { candidate, trial: undefined };
    if (isRead && !client.isGuess) return { candidate, trial: "call" };
    // A card that says what an interface speaks is trusted until a call to it gets no answer.
    const isTrusted = !suspect && !client.isGuess && (repeatable || declaresVersion(client.name.version));
    return { candidate, trial: isTrusted ? undefined : "probe" };
  });
}

type Call<T> = (client: InterfaceClient, options: CallOptions) => Promise<T>;

/**
 * The interfaces of a card, tried in order: a failing one leads to the next and is skipped for a while. A call that may
 * have reached an agent is not sent to another interface unless it is safe to repeat. So an interface is probed before it
 * gets such a message if it has failed, or if the card does not state its own version.
 */
export class InterfacePool implements Attempt {
  readonly #options: InterfacePoolOptions;
  readonly #candidates: readonly Candidate[];
  #connection: Connection | undefined;

  constructor(options: InterfacePoolOptions) {
    this.#options = options;
    this.#candidates = options.interfaces.flatMap((client) =>
      "reason" in client ? [] : [{ client, proven: false, settled: false, retryAt: 0, failures: 0, reason: "" }],
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
    const allowance = startAllowance(options, clock);
    const failures: unknown[] = [];
    const tries = planTries(this.#order(clock.now()), { operation, repeatable });
    const round: Round = { operation, repeatable, tries, wrongGuesses: [] };
    // It may grow during iteration.
    for (const [index, { candidate, trial }] of tries.entries()) {
      const { client } = candidate;
      // A probe must not use up the time of a call while other interfaces remain.
      const limitMs = Math.min(probeTimeoutMs, allowance.remainingMs() / (tries.length - index));
      let isProbing = trial === "probe";
      try {
        if (isProbing) {
          await (await import("./probe.js")).probe(client, { allowance, limitMs });
          candidate.proven = true;
        }
        isProbing = false;
        const reply = await (trial === "call"
          ? callWithin(allowance, limitMs, (callOptions) => call(client, callOptions))
          : call(client, allowance.next()));
        if (showsForm(operation)) candidate.settled = true;
        this.#recordAnswer(candidate, round.wrongGuesses);
        return reply;
      } catch (error) {
        if (!this.#shouldTryNext(error, { candidate, isProbing }, round)) throw error;
        failures.push(error);
      }
    }
    // Where none answers, the agent is away, and that is no fault of an interface.
    for (const { candidate } of tries) candidate.failures = 0;
    throw this.#unreachable(failures, repeatable);
  }

  // Whether a failure leads to the next interface. Records what it says about this one.
  #shouldTryNext(
    error: unknown,
    { candidate, isProbing }: Pick<Try, "candidate"> & { readonly isProbing: boolean },
    { operation, repeatable, tries, wrongGuesses }: Round,
  ): boolean {
    const { client, settled, proven } = candidate;
    if (error instanceof OtherVersionError) {
      this.#suspend(candidate, describeFailure(error));
      candidate.retryAt = forGood;
      return repeatable;
    }
    if (client.isGuess && !settled && (isProbing || isSend(operation)) && isUnknownMethod(error)) {
      this.#suspend(candidate, describeFailure(error));
      wrongGuesses.push(candidate);
      // It may only lack the probe's method, so it gets the call if no other interface takes it.
      if (isProbing) tries.push({ candidate, trial: undefined });
      return true;
    }
    if (error instanceof ConnectionError || shouldTryNextInterface(error, { repeatable: true, proven })) {
      this.#suspend(candidate, describeFailure(error));
    } else if (isAgentAnswer(error)) {
      this.#recordAnswer(candidate, wrongGuesses);
    } else if (isGivenUp(error)) {
      candidate.suspect = true;
    }
    return shouldTryNextInterface(error, { repeatable: isProbing || repeatable, proven });
  }

  // In order of preference; recently failed ones come last, the oldest failure first. A version known to be wrong is
  // not called again: its answers would look like those of an agent that is merely down.
  #order(now: number): readonly Candidate[] {
    const available = this.#candidates.filter(({ retryAt }) => retryAt <= now);
    if (available.length === this.#candidates.length) return available;
    const unavailable = this.#candidates.filter(({ retryAt }) => retryAt > now && retryAt !== forGood);
    return [...available, ...unavailable.sort((a, b) => a.retryAt - b.retryAt)];
  }

  #suspend(candidate: Candidate, reason: string): void {
    candidate.proven = false;
    candidate.suspect = true;
    candidate.failures += 1;
    candidate.retryAt = this.#options.clock.now() + backoffMs(candidate.failures, suspensionBackoff);
    candidate.reason = reason;
  }

  // Guesses denied before the agent answered here are wrong for good.
  #recordAnswer(candidate: Candidate, wrongGuesses: readonly Candidate[]): void {
    for (const guess of wrongGuesses) guess.retryAt = forGood;
    candidate.proven = true;
    candidate.retryAt = 0;
    candidate.failures = 0;
    candidate.suspect = false;
    if (isSame(this.#connection, candidate.client.name)) return;
    const { interfaces } = this.#options;
    const before = interfaces.slice(0, interfaces.indexOf(candidate.client));
    this.#connection = createConnection(candidate.client.name, this.#listUnused(before));
    this.#options.onConnection?.(this.#connection);
  }

  #unreachable(failures: readonly unknown[], repeatable: boolean): unknown {
    const [first] = failures;
    if (first !== undefined && failures.every((error) => isSameError(error, first))) return first;
    // A call that is not repeatable got here only because none of it was sent.
    const written = repeatable && failures.some((error) => error instanceof ConnectionError && error.written);
    return new NoInterfaceError(this.#listUnused(this.#options.interfaces), failures, written);
  }

  #listUnused(interfaces: InterfacePoolOptions["interfaces"]): readonly UnusedInterface[] {
    const reasons = new Map(this.#candidates.map(({ client, reason }) => [client, reason]));
    return interfaces.map((each) => ("reason" in each ? each : { ...each.name, reason: reasons.get(each) ?? "" }));
  }
}

// An answer that is the same at every interface is the agent's answer.
function isSameError(error: unknown, first: unknown): boolean {
  if (!(error instanceof A2AError) || !(first instanceof A2AError) || error instanceof ConnectionError) return false;
  return error.code === first.code && readForeignStatus(error) === undefined;
}

/** Whether the caller left, or its time ran out, before an answer. */
function isGivenUp(error: unknown): boolean {
  return !(error instanceof A2AError) || error.code === "deadlineExceeded";
}

/** Whether an operation's answers reveal their version. */
function showsForm({ output: { typeName } }: Operation): boolean {
  return /\.(?:Task|SendMessageResponse|StreamResponse)$/.test(typeName);
}

function isSend({ input }: Operation): boolean {
  return input.typeName === typeNames.SendMessageRequest;
}

function isSame(connection: Connection | undefined, { binding, url, version }: InterfaceName): boolean {
  return connection?.url === url && connection.binding === binding && connection.version === version;
}
