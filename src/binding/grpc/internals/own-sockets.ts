import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { isObject } from "../../../protocol/kinds.js";

// grpc-js abandons a connection attempt without closing its socket, which keeps the process alive as long as the peer
// likes. Node reports every socket that is opened, in the asynchronous context that opened it. Tried with grpc-js
// 1.14.7. Costs nothing per call: it is used only while connecting. Without it, a program does not exit while an agent
// hangs.

/** Tracks the sockets that a piece of code opens, however deep in a library. */
export interface OwnSockets {
  /** Runs code and tracks its sockets, including those it opens later. */
  run<T>(code: () => T): T;
  /** Destroys the tracked sockets. */
  destroy(): void;
  /** Stops tracking and forgets the sockets. */
  forget(): void;
}

export function trackSockets(): OwnSockets {
  const scope = new AsyncLocalStorage<true>();
  const sockets = new Set<Socket>();
  const onOpened = (message: unknown): void => {
    if (scope.getStore() !== true || !isObject(message) || !("socket" in message)) return;
    if (message.socket instanceof Socket) sockets.add(message.socket);
  };
  subscribe("net.client.socket", onOpened);
  return {
    run: (code) => scope.run(true, code),
    destroy() {
      for (const socket of sockets) socket.destroy();
    },
    forget() {
      unsubscribe("net.client.socket", onOpened);
      scope.disable();
      sockets.clear();
    },
  };
}
