import type { Service } from "../binding/service.js";
import type { Clock } from "../protocol/async/clock.js";
import { createIdleCounter } from "../protocol/async/idle-counter.js";
import type { Principal } from "../protocol/context.js";
import { A2AError, toldError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { type ByteLedger, createByteLedger, type MemoryLoad } from "./byte-ledger.js";
import type { AdmissionLimits } from "./limits.js";
import { createWorkQueue, type WorkQueue } from "./work-queue.js";

/** What all calls of a process share: bytes in memory, open streams, the processor for large work. */
export interface ProcessAdmission {
  readonly requests: ByteLedger;
  readonly work: WorkQueue;
  /** Takes the place of a stream; the returned function releases it. Throws `unavailable` beyond `streamsPerProcess`. */
  openStream(): () => void;
  /** Counts a call until the returned function is called. */
  enter(): () => void;
  /** Resolves when no call is active. */
  idle(): Promise<void>;
  /** Refuses new work from now on. */
  close(): void;
  readonly isClosed: boolean;
}

/** Creates the admission of a process. */
export function createProcessAdmission(limits: AdmissionLimits, clock: Clock, load?: MemoryLoad): ProcessAdmission {
  const inside = createIdleCounter();
  const openStream = streamPlaces(limits.streamsPerProcess);
  let isClosed = false;
  return {
    requests: createByteLedger(limits.inFlightMaxBytes, load),
    work: createWorkQueue({ clock, isShared: (waiting) => inside.count > waiting }),
    openStream,
    enter: inside.enter,
    idle: inside.idle,
    close() {
      isClosed = true;
    },
    get isClosed() {
      return isClosed;
    },
  };
}

/** Counts open streams up to a limit. */
function streamPlaces(max: number): () => () => void {
  let open = 0;
  const leave = (): void => {
    open -= 1;
  };
  return () => {
    if (open >= max) throw tooMany("unavailable", "open streams", ["streamsPerProcess", max]);
    open += 1;
    return leave;
  };
}

export interface AdmissionOptions {
  readonly process: ProcessAdmission;
  /** Distinguishes callers that another authentication knows by the same owner. Default: `""`. */
  readonly realm?: string | undefined;
  readonly identify: Service["authenticate"];
  /** Whether all callers count as one. */
  readonly isOpen: boolean;
  readonly extensions: readonly { readonly uri: string; readonly required?: boolean | undefined }[];
  readonly limits: Pick<AdmissionLimits, "streamsPerPrincipal" | "streamsPerProcess">;
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
  const { process, realm = "", identify, isOpen, extensions, limits, logger, newId } = options;
  const known = new Set(extensions.map(({ uri }) => uri));
  const required = extensions.filter((extension) => extension.required === true).map(({ uri }) => uri);
  const streams = createStreams(process, limits);
  const inside = createIdleCounter();
  const keyOf = ({ tenant = "", owner }: Principal): string =>
    realm === "" ? `${tenant}\n${owner}` : `${realm}\n${tenant}\n${owner}`;
  let closed = false;

  return {
    close() {
      closed = true;
    },
    get streams() {
      return streams.count;
    },
    idle: inside.idle,
    authenticate: identify,
    extensions(requested) {
      const missing = required.find((uri) => !requested.includes(uri));
      if (missing !== undefined) throw notActivated(missing);
      return requested.length === 0 ? requested : requested.filter((uri) => known.has(uri));
    },
    enter(call) {
      if (call.isInside !== true && (closed || process.isClosed)) throw shuttingDown();
      const leaveStream = call.streams ? streams.open(isOpen ? undefined : keyOf(call.principal)) : undefined;
      const callerOf = (): string => (isOpen ? (call.peer() ?? "") : keyOf(call.principal));
      const { receive, hold, release } = process.requests.open(callerOf);
      const [exit, exitProcess] = [inside.enter(), process.enter()];
      let left = false;
      return {
        receive,
        hold,
        release,
        work: (steps) => process.work.run(callerOf(), steps),
        leave() {
          if (left) return;
          left = true;
          release();
          leaveStream?.();
          exit();
          exitProcess();
        },
      };
    },
    publicError(error, request) {
      if (error instanceof A2AError) return toldError(error);
      const reference = newId();
      logger.error({ requestId: request.requestId, reference, err: error }, "an operation failed");
      return new A2AError("internalError", `internal error (reference ${reference})`, { metadata: { reference } });
    },
  };
}

/** Counts the open streams of an agent's callers. */
function createStreams(
  process: ProcessAdmission,
  { streamsPerPrincipal, streamsPerProcess }: AdmissionOptions["limits"],
) {
  const callers = new Map<string, number>();
  const openOwn = streamPlaces(streamsPerProcess);
  let count = 0;
  const leaveCaller = (caller: string | undefined): void => {
    if (caller === undefined) return;
    const left = (callers.get(caller) ?? 1) - 1;
    if (left === 0) callers.delete(caller);
    else callers.set(caller, left);
  };
  return {
    get count() {
      return count;
    },
    /** Takes the place of a stream; the returned function releases it. Throws over the limits. */
    open(caller: string | undefined): () => void {
      const own = caller === undefined ? 0 : (callers.get(caller) ?? 0);
      if (own >= streamsPerPrincipal) {
        throw tooMany("resourceExhausted", "open streams of this caller", ["streamsPerPrincipal", streamsPerPrincipal]);
      }
      const leaveOwn = openOwn();
      let leave: () => void;
      try {
        leave = process.openStream();
      } catch (error) {
        leaveOwn();
        throw error;
      }
      count += 1;
      if (caller !== undefined) callers.set(caller, own + 1);
      return () => {
        count -= 1;
        leave();
        leaveOwn();
        leaveCaller(caller);
      };
    },
  };
}

function shuttingDown(): A2AError {
  return new A2AError("unavailable", "the server is shutting down", { retryAfterMs: 1000 });
}

function notActivated(uri: string): A2AError {
  return new A2AError("extensionSupportRequired", `the extension ${uri} has to be activated`, { metadata: { uri } });
}

function tooMany(
  code: "resourceExhausted" | "unavailable",
  what: string,
  [limit, max]: readonly [string, number],
): A2AError {
  return new A2AError(code, `too many ${what}: the limit is ${max} (${limit})`, {
    retryAfterMs: 1000,
    metadata: { limit },
  });
}
