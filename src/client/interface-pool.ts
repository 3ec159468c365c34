import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CredentialSource } from "../auth/credentials.js";
import { OtherVersionError } from "../binding/transport.js";
import type { Clock } from "../protocol/async/clock.js";
import { backoffMs } from "../protocol/async/retry.js";
import { hasEventIds, toBindingName, wireName } from "../protocol/bindings.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import { idempotentSendExtension, resumeExtension } from "../protocol/extensions.js";
import { isLoopback } from "../protocol/loopback.js";
import { type AgentCard, type AgentInterface, typeNames } from "../protocol/model.js";
import type { Operation } from "../protocol/operations.js";
import { parseVersion } from "../protocol/service-parameters.js";
import { declaresVersion, isGuess, knowsMessageIds, knowsTenants } from "../version/traits.js";
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
import { type Attempt, InterfaceClient, type OpenStream } from "./interface-client.js";
import type { SecretPolicy } from "./secret-policy.js";
import { callWithin, startAllowance } from "./timing.js";
import type { TransportFactory, TransportSetting } from "./transports.js";

// The interfaces of a card, and which of them serves a call.
//
// First the choice: `classify` says which interfaces this client can and may call, and `sortInterfaces` puts the newest
// version first, then the bindings that the caller prefers. The others stay in the list with the reason, for errors and
// for `Client.connection`.
//
// Then the call: it makes one round through the interfaces in this order; those that failed a short time ago come last
// and pause for 30 s, then twice as long after each failure. An interface is unproven until it has answered. While there
// are others, an unproven one is tried by a probe, or by the call itself in a part of its time. A guessed version is
// settled by the first answer in its form. A call that must not be sent twice goes on to the next interface only if the
// last one did nothing (`shouldTryNextInterface`).

/** What a client can and may call. */
interface CallableProtocols {
  readonly transports: readonly TransportFactory[];
  /** Versions that may be spoken. Default: any that a transport can. */
  readonly allowedVersions: readonly string[] | undefined;
}

export interface InterfacePoolOptions extends CallableProtocols {
  readonly prefer: readonly string[];
  readonly setting: TransportSetting;
  readonly credentials: CredentialSource | undefined;
  /** Where the card was read; `undefined` when the caller passed it as an object. */
  readonly cardUrl: string | undefined;
  /** Says which secrets an interface is called with. */
  readonly secretPolicy: (name: InterfaceName) => Promise<SecretPolicy>;
  /** Messages may be resent to agents that deduplicate them. */
  readonly sendOnce: boolean;
  readonly clock: Clock;
  /** Time limit of the trial of an unproven interface while there are others. */
  readonly probeTimeoutMs: number;
  /** Called at every change of the connection. */
  readonly onConnection: ((connection: Connection) => void) | undefined;
  /** Aborts when the client is closed. */
  readonly closeSignal: AbortSignal;
}

/** Whether a card lists an interface that can be called. */
export function isCallable(card: AgentCard, protocols: CallableProtocols): boolean {
  return card.supportedInterfaces.some((entry) => !("reason" in classify(entry, protocols)));
}

/** A callable interface. */
interface UsableInterface {
  readonly entry: AgentInterface;
  /** `Major.Minor`. */
  readonly version: string;
  readonly factory: TransportFactory;
}

function classify(
  entry: AgentInterface,
  { transports, allowedVersions }: CallableProtocols,
): UsableInterface | UnusedInterface {
  // The patch number of a version is ignored (spec 3.6).
  const version = parseVersion(entry.protocolVersion) ?? entry.protocolVersion;
  const name = toBindingName(entry.protocolBinding);
  const factories = transports.filter(({ binding }) => binding === entry.protocolBinding || binding === name);
  if (factories.length === 0) return unusedInterface(entry, "this client has no such binding");
  const factory = factories.find(({ versions }) => versions === undefined || versions.includes(version));
  if (factory === undefined) return unusedInterface(entry, "this client does not speak the version");
  if (allowedVersions?.includes(version) === false)
    return unusedInterface(entry, "the option `versions` excludes the version");
  if (entry.tenant !== "" && !knowsTenants(entry)) return unusedInterface(entry, "its version cannot name the tenant");
  return { entry, version, factory };
}

/** Drops interfaces over which an agent that deduplicates messages would not do so, unless there are no others. */
function preferIdempotent(
  card: AgentCard,
  interfaces: readonly (UsableInterface | UnusedInterface)[],
  sendOnce: boolean,
): readonly (UsableInterface | UnusedInterface)[] {
  const isNameless = (each: UsableInterface | UnusedInterface): each is UsableInterface =>
    !("reason" in each) && !knowsMessageIds(each.entry);
  if (
    !sendOnce ||
    !declaresExtension(card, idempotentSendExtension) ||
    interfaces.every((each) => "reason" in each || isNameless(each))
  )
    return interfaces;
  return interfaces.map((each) =>
    isNameless(each) ? unusedInterface(each.entry, "its version has no ids by which the agent knows messages") : each,
  );
}

function unusedInterface(entry: AgentInterface, reason: string): UnusedInterface {
  return { ...nameInterface(entry), reason };
}

function nameInterface({ protocolBinding, url, protocolVersion: version }: AgentInterface): InterfaceName {
  const binding = toBindingName(protocolBinding);
  return {
    binding,
    url,
    version,
    ...(protocolBinding === wireName(protocolBinding) ? {} : { listedAs: protocolBinding }),
  };
}

function createInterface(
  card: AgentCard,
  { entry, version, factory }: UsableInterface,
  options: InterfacePoolOptions,
): InterfaceClient {
  const { setting, credentials, closeSignal, cardUrl } = options;
  const { tenant } = entry;
  const url = reachableUrl(entry.url, cardUrl);
  const name = nameInterface(entry);
  const { binding } = name;
  const isGuessed = isGuess(entry, card.supportedInterfaces);
  return new InterfaceClient({
    name,
    tenant,
    takesTenants: knowsTenants(entry),
    isGuess: isGuessed,
    connect: () => factory.create({ url, version, isGuess: isGuessed }, setting),
    credentials,
    secretPolicy: () => options.secretPolicy({ ...name, url }),
    headers: setting.headers,
    // Server-sent events have a field for event ids.
    streamExtensions: !hasEventIds(binding) && declaresExtension(card, resumeExtension) ? [resumeExtension] : [],
    closeSignal,
  });
}

/**
 * The URL at which an interface is called. Agents that listen on all addresses sometimes list `0.0.0.0` or `[::]`. If
 * the card was read from this machine, the host of the card takes its place; otherwise the address policy refuses it.
 */
function reachableUrl(url: string, cardUrl: string | undefined): string {
  const cardHost = URL.parse(cardUrl ?? "")?.hostname;
  if (cardHost === undefined || !isLoopback(cardHost)) return url;
  return url.replace(/^(\w+:\/\/)?(?:0\.0\.0\.0|\[::\])(?=[:/?#]|$)/, (_, scheme = "") => scheme + cardHost);
}

/** The newest version first, then the preferred bindings, each in the card's order. */
function sortInterfaces(
  { supportedInterfaces }: AgentCard,
  prefer: readonly string[],
): AgentCard["supportedInterfaces"] {
  const rank = (word: string): number => {
    const index = prefer.findIndex((binding) => binding === word || binding === toBindingName(word));
    return index < 0 ? prefer.length : index;
  };
  return supportedInterfaces.toSorted(
    (a, b) =>
      rankAge(a.protocolVersion) - rankAge(b.protocolVersion) || rank(a.protocolBinding) - rank(b.protocolBinding),
  );
}

// Larger for older versions. An unknown name sorts first, like a version newer than all known ones.
function rankAge(name: string): number {
  const version = parseVersion(name);
  if (version === undefined) return Number.NEGATIVE_INFINITY;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return -(major * 10_000 + minor);
}

/** Whether a card declares an extension. */
export function declaresExtension({ capabilities }: AgentCard, extension: string): boolean {
  return capabilities?.extensions.some(({ uri }) => uri === extension) ?? false;
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

function planTries(order: readonly Candidate[], operation: Operation, repeatable: boolean): Try[] {
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
  /** In order of preference; those that cannot be called with the reason. */
  readonly #interfaces: readonly (InterfaceClient | UnusedInterface)[];
  readonly #candidates: readonly Candidate[];
  /** The agent knows repeated messages by their ids, over any interface. */
  readonly #deduplicates: boolean;
  #connection: Connection | undefined;

  constructor(card: AgentCard, options: InterfacePoolOptions) {
    this.#options = options;
    const interfaces = preferIdempotent(
      card,
      sortInterfaces(card, options.prefer).map((entry) => classify(entry, options)),
      options.sendOnce,
    );
    this.#deduplicates =
      declaresExtension(card, idempotentSendExtension) &&
      interfaces.every((each) => "reason" in each || knowsMessageIds(each.entry));
    this.#interfaces = interfaces.map((each) => ("reason" in each ? each : createInterface(card, each, options)));
    this.#candidates = this.#interfaces.flatMap((client) =>
      "reason" in client ? [] : [{ client, proven: false, settled: false, retryAt: 0, failures: 0, reason: "" }],
    );
  }

  /** The interface that answered last; `undefined` before the first answer. */
  get connection(): Connection | undefined {
    return this.#connection;
  }

  /** Whether a call may be sent twice, over any interface: an idempotent one, or a message that the agent deduplicates. */
  isRepeatable(operation: Operation, { extensions }: CallOptions): boolean {
    if (operation.idempotent) return true;
    return this.#deduplicates && isSend(operation) && extensions?.includes(idempotentSendExtension) === true;
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
    const tries = planTries(this.#order(clock.now()), operation, repeatable);
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
        if (!this.#shouldTryNext(error, candidate, isProbing, round)) throw error;
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
    candidate: Candidate,
    isProbing: boolean,
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
    const before = this.#interfaces.slice(0, this.#interfaces.indexOf(candidate.client));
    this.#connection = createConnection(candidate.client.name, this.#listUnused(before));
    this.#options.onConnection?.(this.#connection);
  }

  #unreachable(failures: readonly unknown[], repeatable: boolean): unknown {
    const [first] = failures;
    if (first !== undefined && failures.every((error) => isSameError(error, first))) return first;
    // A call that is not repeatable got here only because none of it was sent.
    const written = repeatable && failures.some((error) => error instanceof ConnectionError && error.written);
    return new NoInterfaceError(this.#listUnused(this.#interfaces), failures, written);
  }

  #listUnused(interfaces: readonly (InterfaceClient | UnusedInterface)[]): readonly UnusedInterface[] {
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
