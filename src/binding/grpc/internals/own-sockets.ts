import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Socket } from "node:net";

// grpc-js gives up an attempt to connect without closing its socket, which then keeps the process alive for as long as the
// other end likes. Node reports every socket that is opened, and the asynchronous context in which it was.
// Tried with grpc-js 1.14.7. Costs a call nothing: it is used while a connection is made. Without it a program does not end
// as long as an agent hangs.

/** Sockets that some code opens, however deep in a library. */
export interface OwnSockets {
  /** Runs code whose sockets are to be known, those too that it opens later. */
  run<T>(code: () => T): T;
  /** Closes them. */
  destroy(): void;
  /** Looks no longer, and forgets them. */
  forget(): void;
}

export function ownSockets(): OwnSockets {
  const scope = new AsyncLocalStorage<true>();
  const sockets = new Set<Socket>();
  const opened = (message: unknown): void => {
    if (scope.getStore() !== true || typeof message !== "object" || message === null || !("socket" in message)) return;
    if (message.socket instanceof Socket) sockets.add(message.socket);
  };
  subscribe("net.client.socket", opened);
  return {
    run: (code) => scope.run(true, code),
    destroy() {
      for (const socket of sockets) socket.destroy();
    },
    forget() {
      unsubscribe("net.client.socket", opened);
      scope.disable();
      sockets.clear();
    },
  };
}
