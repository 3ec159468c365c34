import type { Service } from "../binding/service.js";
import type { Clock } from "../protocol/async/clock.js";
import { createIdleCounter } from "../protocol/async/idle-counter.js";
import type { Principal } from "../protocol/context.js";
import { A2AError, toldError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { createByteLedger, type MemoryLoad } from "./byte-ledger.js";
import type { AdmissionLimits } from "./limits.js";
import { createWorkQueue } from "./work-queue.js";

export interface AdmissionOptions {
  readonly identify: Service["authenticate"];
  /** Whether all callers count as one. */
  readonly isOpen: boolean;
  readonly extensions: readonly { readonly uri: string; readonly required?: boolean | undefined }[];
  readonly limits: AdmissionLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newId: () => string;
  /** `undefined` where nothing is measured. */
  readonly load?: MemoryLoad | undefined;
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
  const { identify, isOpen, extensions, limits, clock, logger, newId, load } = options;
  const known = new Set(extensions.map(({ uri }) => uri));
  const required = extensions.filter((extension) => extension.required === true).map(({ uri }) => uri);
  const streams = createStreamCounter(limits);
  const requests = createByteLedger(limits.inFlightMaxBytes, load);
  const inside = createIdleCounter();
  const work = createWorkQueue({ clock, isShared: (waiting) => inside.count > waiting });
  let closed = false;

  return {
    close() {
      closed = true;
    },
    get streams() {
      return streams.open;
    },
    idle: inside.idle,
    authenticate: identify,
    extensions(requested) {
      const missing = required.find((uri) => !requested.includes(uri));
      if (missing !== undefined) throw notActivated(missing);
      return requested.length === 0 ? requested : requested.filter((uri) => known.has(uri));
    },
    enter(call) {
      if (closed) throw new A2AError("unavailable", "the server is shutting down", { retryAfterMs: 1000 });
      const key = isOpen || !call.streams ? undefined : keyOf(call.principal);
      if (call.streams) streams.enter(key);
      const callerOf = (): string => (isOpen ? (call.peer() ?? "") : keyOf(call.principal));
      const { receive, hold, release } = requests.open(callerOf);
      const exit = inside.enter();
      let left = false;
      return {
        receive,
        hold,
        release,
        work: (steps) => work.run(callerOf(), steps),
        leave() {
          if (left) return;
          left = true;
          release();
          if (call.streams) streams.leave(key);
          exit();
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

/** Counts open streams, of the process and of each principal with a key. */
function createStreamCounter(limits: AdmissionLimits) {
  const { streamsPerPrincipal, streamsPerProcess } = limits;
  const streams = new Map<string, number>();
  let total = 0;
  return {
    get open(): number {
      return total;
    },
    enter(key: string | undefined): void {
      const own = key === undefined ? 0 : (streams.get(key) ?? 0);
      const limit = (name: keyof AdmissionLimits): readonly [string, number] => [name, limits[name]];
      if (own >= streamsPerPrincipal)
        throw tooMany("resourceExhausted", "open streams of this caller", limit("streamsPerPrincipal"));
      if (total >= streamsPerProcess) throw tooMany("unavailable", "open streams", limit("streamsPerProcess"));
      total++;
      if (key !== undefined) streams.set(key, own + 1);
    },
    leave(key: string | undefined): void {
      total--;
      if (key === undefined) return;
      const left = (streams.get(key) ?? 1) - 1;
      if (left === 0) streams.delete(key);
      else streams.set(key, left);
    },
  };
}

function keyOf({ tenant = "", owner }: Principal): string {
  return `${tenant}\n${owner}`;
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
