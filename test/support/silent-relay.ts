import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP relay that can break its connections, or stop passing bytes on, as a network does that drops packets. */
export interface SilentRelay extends AsyncDisposable {
  readonly port: number;
  /** Passes nothing on from now on, new connections included. */
  silence(): void;
  /** Passes on what was held back, and everything after it. */
  restore(): void;
  /** Passes nothing on from now on over the connections that exist, and tells neither end. New ones are relayed. */
  forget(): void;
  /** Breaks all connections. New ones are relayed. */
  cut(): void;
}

export async function silentRelay(targetPort: number): Promise<SilentRelay> {
  const sockets = new Set<Socket>();
  let isSilent = false;
  const server = createServer((caller) => {
    const target = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [caller, target],
      [target, caller],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isSilent) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    silence() {
      isSilent = true;
      for (const socket of sockets) socket.pause();
    },
    restore() {
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    forget() {
      for (const socket of sockets) socket.pause();
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
