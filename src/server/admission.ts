import type { AdmittedCall, EnteringCall, Service } from "../binding/service.js";
import type { Clock } from "../protocol/async/clock.js";
import { createIdleCounter, type IdleCounter } from "../protocol/async/idle-counter.js";
import { A2AError, CallError, errorForPeer, MaskedError, maskedError } from "../protocol/errors.js";
import { ownerKey } from "../protocol/fair-share.js";
import type { Logger } from "../protocol/logger.js";
import { type ByteLedger, createByteLedger, type LedgerEntry, type MemoryLoad } from "./byte-ledger.js";
import type { AdmissionLimits } from "./limits.js";
import { UnsentBudget } from "./unsent-budget.js";
import { createWorkQueue, type WorkQueue } from "./work-queue.js";

// Admission: which calls the server takes in, after authentication and before their bodies are read.
//
// A server that shuts down takes no new call, except those of its own running turns. A stream takes a slot of its
// caller, of the agent and of the process. A call books its bytes in the ledger (`byte-ledger.ts`) and runs large work
// in turns (`work-queue.ts`). Rate limits are elsewhere (`rates/rated-calls.ts`), and so is what refuses turns in an
// overload (`core/turn-slots.ts`). `publicError` decides what a caller sees of an error.
//
// Active calls are counted here for a shutdown, since `tryShutdown` of grpc-js does not wait for calls on injected
// connections.

/** The admission of a process, shared by all calls: bytes in memory, open streams, the queue for large work. */
export interface ProcessAdmission {
  readonly requests: ByteLedger;
  readonly unsent: UnsentBudget;
  readonly work: WorkQueue;
  readonly streams: StreamCount;
  /** The calls that are active. */
  readonly activeCalls: IdleCounter;
  /** Refuses new work from now on. */
  close(): void;
  readonly isClosed: boolean;
}

/** Creates the admission of a process. */
export function createProcessAdmission(limits: AdmissionLimits, clock: Clock, load?: MemoryLoad): ProcessAdmission {
  const activeCalls = createIdleCounter();
  const requests = createByteLedger(limits.inFlightMaxBytes, load);
  let isClosed = false;
  return {
    requests,
    unsent: new UnsentBudget(requests),
    work: createWorkQueue({ clock, isShared: (waiting) => activeCalls.count > waiting }),
    streams: { count: 0, max: limits.streamsPerProcess },
    activeCalls,
    close() {
      isClosed = true;
    },
    get isClosed() {
      return isClosed;
    },
  };
}

/** How many streams are open, and how many may be. */
interface StreamCount {
  count: number;
  readonly max: number;
}

export interface AdmissionOptions {
  readonly process: ProcessAdmission;
  /** Distinguishes callers that another authentication knows by the same owner. Default: `""`. */
  readonly realm?: string | undefined;
  readonly identify: Service["authenticate"];
  /** Returns the network of a call, which distinguishes callers that are all one owner. Absent with authentication. */
  readonly readNetwork?: ((call: EnteringCall) => string | undefined) | undefined;
  readonly extensions: readonly { readonly uri: string; readonly required?: boolean | undefined }[];
  readonly limits: AdmissionLimits;
  readonly logger: Logger;
  readonly newId: () => string;
}

/** Admission control: which calls reach the handler, and how many at once. */
export interface Admission extends Pick<Service, "authenticate" | "extensions" | "enter" | "publicError"> {
  /** Refuses new work from now on. */
  close(): void;
  /** Open streams. */
  readonly streams: number;
  /** Resolves when no call is active. */
  idle(): Promise<void>;
}

export function createAdmission(options: AdmissionOptions): Admission {
  const { process, realm = "", identify, readNetwork, extensions, limits, logger, newId } = options;
  const extensionUris = new Set(extensions.map(({ uri }) => uri));
  const required = extensions.filter((extension) => extension.required === true).map(({ uri }) => uri);
  // Callers that are all one owner have no limits of their own.
  const perCaller = readNetwork === undefined ? limits.streamsPerPrincipal : Number.POSITIVE_INFINITY;
  const streams = new AgentStreams(process.streams, limits.streamsPerProcess, perCaller);
  const activeCalls = createIdleCounter();
  // The length separates the realm from the owner. Principals of one realm are one owner at all agents.
  const realmKey = `${realm.length} ${realm}`;
  const admission: AgentAdmission = {
    process,
    streams,
    activeCalls,
    identifyCaller:
      readNetwork === undefined ? ({ principal }) => realmKey + ownerKey(principal) : (call) => readNetwork(call) ?? "",
  };
  let closed = false;

  return {
    close() {
      closed = true;
    },
    get streams() {
      return streams.count;
    },
    idle: activeCalls.idle,
    authenticate: identify,
    extensions(requested) {
      const missingUri = required.find((uri) => !requested.includes(uri));
      if (missingUri !== undefined) throw extensionRequired(missingUri);
      return requested.length === 0 ? requested : requested.filter((uri) => extensionUris.has(uri));
    },
    enter(call) {
      if (call.isInside !== true && (closed || process.isClosed)) throw shuttingDown();
      process.unsent.check(call);
      return new CallAdmission(admission, call);
    },
    publicError(error, request) {
      if (error instanceof A2AError && !(error instanceof CallError)) return errorForPeer(error);
      const reference = newId();
      const { requestId } = request;
      if (error instanceof MaskedError) {
        const { cause: err } = error;
        logger.warn({ requestId, reference, err }, error.record);
        return maskedError(error.code, error.message, { reference, retryAfterMs: error.retryAfterMs });
      }
      logger.error({ requestId, reference, err: error }, "an operation failed");
      if (!(error instanceof CallError)) return maskedError("internalError", "internal error", { reference });
      const { retryAfterMs } = error;
      return maskedError("unavailable", "an agent that this one calls did not answer", { reference, retryAfterMs });
    },
  };
}

/** Where the calls of an agent are admitted. */
interface AgentAdmission {
  readonly process: ProcessAdmission;
  readonly streams: AgentStreams;
  readonly activeCalls: IdleCounter;
  /** The key of a caller: its owner, or its network where all are one owner. */
  identifyCaller(call: EnteringCall): string;
}

/** An admitted call, until it leaves. There is one for each open stream, so it has no closures and keeps no request. */
class CallAdmission implements AdmittedCall {
  readonly #admission: AgentAdmission;
  readonly #streams: boolean;
  readonly #entry: LedgerEntry;
  /** Kept until the caller's key is computed, which most calls never need. */
  #call: EnteringCall | undefined;
  #caller = "";
  #hasLeft = false;

  constructor(admission: AgentAdmission, call: EnteringCall) {
    this.#admission = admission;
    this.#streams = call.streams;
    this.#call = call;
    if (call.streams) admission.streams.open(this.caller);
    this.#entry = admission.process.requests.open(this);
    admission.activeCalls.begin();
    admission.process.activeCalls.begin();
  }

  get caller(): string {
    if (this.#call !== undefined) this.#caller = this.#admission.identifyCaller(this.#call);
    this.#call = undefined;
    return this.#caller;
  }

  receive(bytes: number): void {
    this.#entry.receive(bytes);
  }

  hold(bytes: number): void {
    this.#entry.hold(bytes);
  }

  release(bytes?: number): void {
    this.#entry.release(bytes);
  }

  work<T>(steps: Iterator<unknown, T>): Promise<T> {
    return this.#admission.process.work.run(this.caller, steps);
  }

  leave(): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.release();
    if (this.#streams) this.#admission.streams.leave(this.caller);
    this.#admission.activeCalls.end();
    this.#admission.process.activeCalls.end();
  }
}

/**
 * The open streams of an agent: each takes a slot of its caller, of the agent and of the process. Counted by hand, since
 * `Slots` takes lists of slots, which would be four objects for each stream when it opens and when it ends.
 */
class AgentStreams {
  readonly #ofProcess: StreamCount;
  readonly #ofAgent: StreamCount;
  readonly #perCaller: number;
  readonly #callers = new Map<string, number>();

  constructor(ofProcess: StreamCount, max: number, perCaller: number) {
    this.#ofProcess = ofProcess;
    this.#ofAgent = { count: 0, max };
    this.#perCaller = perCaller;
  }

  get count(): number {
    return this.#ofAgent.count;
  }

  /** Takes the slots of a stream. Throws `resourceExhausted` or `unavailable` when one is missing, and takes none. */
  open(caller: string): void {
    const before = this.#callers.get(caller) ?? 0;
    if (before >= this.#perCaller) {
      throw tooMany("resourceExhausted", "open streams of this caller", "streamsPerPrincipal", this.#perCaller);
    }
    assertRoom(this.#ofAgent);
    assertRoom(this.#ofProcess);
    this.#callers.set(caller, before + 1);
    this.#ofAgent.count += 1;
    this.#ofProcess.count += 1;
  }

  /** Frees them. Call it once. */
  leave(caller: string): void {
    const remaining = (this.#callers.get(caller) ?? 1) - 1;
    if (remaining === 0) this.#callers.delete(caller);
    else this.#callers.set(caller, remaining);
    this.#ofAgent.count -= 1;
    this.#ofProcess.count -= 1;
  }
}

function assertRoom({ count, max }: StreamCount): void {
  if (count >= max) throw tooMany("unavailable", "open streams", "streamsPerProcess", max);
}

function shuttingDown(): A2AError {
  return new A2AError("unavailable", "the server is shutting down", { retryAfterMs: 1000 });
}

function extensionRequired(uri: string): A2AError {
  return new A2AError("extensionSupportRequired", `the agent requires the extension ${uri}: activate it`, {
    metadata: { uri },
  });
}

function tooMany(code: "resourceExhausted" | "unavailable", what: string, limit: string, max: number): A2AError {
  return new A2AError(code, `too many ${what}: the limit is ${max} (${limit})`, {
    retryAfterMs: 1000,
    metadata: { limit },
  });
}
