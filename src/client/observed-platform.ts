import type { OpenTelemetry } from "../telemetry/api.js";
import { type ClientTelemetry, followClientCalls } from "../telemetry/client-calls.js";
import type { ExceptionDetail } from "../telemetry/options.js";
import type { AgentAccess } from "./agent-access.js";
import type { ClientParts } from "./base-client.js";
import type { Platform } from "./platform.js";
import type { Retries } from "./retrying.js";
import type { TransportFactory } from "./transports.js";

/** A platform whose clients' calls are followed. */
export function observePlatform(platform: Platform, api: OpenTelemetry, exceptions: ExceptionDetail): Platform {
  const telemetry = followClientCalls(api, exceptions);
  return {
    ...platform,
    transports: (versions) => platform.transports(versions).map((factory) => quietTransport(factory, telemetry)),
    observe: (parts) => observeParts(parts, telemetry),
  };
}

/** Follows the calls of clients that are made of parts. */
export function partsObserver(api: OpenTelemetry, exceptions: ExceptionDetail): (parts: ClientParts) => ClientParts {
  const telemetry = followClientCalls(api, exceptions);
  return (parts) => observeParts(parts, telemetry);
}

/** The parts of a client whose calls are followed: by an interceptor, by its retries, and by how it reaches its agent. */
function observeParts(parts: ClientParts, telemetry: ClientTelemetry): ClientParts {
  const { interceptors = [] } = parts.options;
  const interceptor = telemetry.interceptor(() => parts.access.connection);
  return {
    ...parts,
    options: { ...parts.options, interceptors: [interceptor, ...interceptors] },
    retries: countRetries(parts.retries, telemetry),
    access: watchAccess(parts.access, telemetry),
  };
}

/** A transport whose requests are parts of the calls that make them. */
function quietTransport({ create, ...factory }: TransportFactory, telemetry: ClientTelemetry): TransportFactory {
  return {
    ...factory,
    create: (address, { fetch, ...setting }) =>
      create(address, { ...setting, fetch: (url, init) => telemetry.suppressTracing(() => fetch(url, init)) }),
  };
}

function countRetries(retries: Retries, telemetry: ClientTelemetry): Retries {
  return {
    pauseBefore(...failure) {
      const pauseMs = retries.pauseBefore(...failure);
      if (pauseMs !== undefined) telemetry.note("retries");
      return pauseMs;
    },
    recordSuccess: () => retries.recordSuccess(),
  };
}

/** Notes when a call is answered by another interface than the one before, and when its stream is opened again. */
function watchAccess(access: AgentAccess, telemetry: ClientTelemetry): AgentAccess {
  const noteFallback = async <T>(call: () => Promise<T>): Promise<T> => {
    const before = access.connection;
    const answer = await call();
    if (before !== undefined && access.connection !== before) telemetry.note("fallbacks");
    return answer;
  };
  return {
    get card() {
      return access.card;
    },
    get connection() {
      return access.connection;
    },
    isRepeatable: access.isRepeatable,
    replaceCard: (card) => access.replaceCard(card),
    unary: (...call) => noteFallback(() => access.unary(...call)),
    async open(...call) {
      const stream = await noteFallback(() => access.open(...call));
      telemetry.noteStream();
      return stream;
    },
    close: () => access.close(),
  };
}
