import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy that breaks its open connections on request. */
export interface BreakingProxy extends AsyncDisposable {
  readonly url: string;
  /** Resets every open connection. */
  breakAll(): void;
}

export async function breakingProxy(port: number): Promise<BreakingProxy> {
  const open = new Set<Socket>();
  const server = createServer((caller) => {
    const target = connect(port, "127.0.0.1");
    for (const [socket, peer] of [
      [caller, target],
      [target, caller],
    ] as const) {
      open.add(socket);
      socket.pipe(peer);
      socket.on("error", () => peer.destroy());
      socket.on("close", () => {
        open.delete(socket);
        peer.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const breakAll = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    breakAll,
    async [Symbol.asyncDispose]() {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
