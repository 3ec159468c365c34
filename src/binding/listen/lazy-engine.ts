import type { Socket } from "node:net";
import type { Http2Engine } from "./http2-engine.js";

/** An engine whose code is loaded when it is needed. */
export interface LazyEngine extends Http2Engine {
  /** Loads it now. Calling it again waits for the same. */
  load(): Promise<void>;
}

/**
 * An engine that is created by its first connection, or by `load`, which `server/port.ts` calls in a moment without calls
 * after the port is open: gRPC would add 35 ms to a start (Node 24.21).
 * Connections wait until it is loaded. If loading fails, they are closed, and the next connection tries again.
 * Connections that wait while the port retires are accepted, and end after their first request.
 */
export function createLazyEngine(make: () => Promise<Http2Engine>, onError: (error: unknown) => void): LazyEngine {
  let engine: Http2Engine | undefined;
  let loading: Promise<Http2Engine | undefined> | undefined;
  let closed = false;
  const makeEngine = async (): Promise<Http2Engine | undefined> => {
    try {
      engine = await make();
      if (closed) engine.close();
      return engine;
    } catch (error) {
      loading = undefined;
      onError(error);
      return undefined;
    }
  };
  const load = (): Promise<Http2Engine | undefined> => {
    loading ??= makeEngine();
    return loading;
  };
  const acceptLater = async (socket: Socket): Promise<void> => {
    const loadedEngine = await load();
    if (socket.destroyed) return;
    if (loadedEngine === undefined || closed) {
      socket.destroy();
      return;
    }
    loadedEngine.accept(socket);
  };
  return {
    load: async () => void (await load()),
    accept(socket) {
      if (engine === undefined) void acceptLater(socket);
      else engine.accept(socket);
    },
    retire: async (ms) => (engine ?? (await loading))?.retire(ms),
    close() {
      closed = true;
      engine?.close();
    },
  };
}
