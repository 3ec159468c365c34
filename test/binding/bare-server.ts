import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** A server without a protocol that counts its sockets. */
export interface BareServer extends AsyncDisposable {
  readonly port: number;
  /** Number of open sockets. */
  readonly open: () => number;
  /** Number of sockets accepted so far. */
  readonly accepted: () => number;
}

export async function bareServer(answer: (socket: Socket) => void, tls?: TlsOptions): Promise<BareServer> {
  const connected = (socket: Socket): void => {
    // A socket that is not read does not report its end.
    answer(socket.resume());
  };
  const server: Server = tls === undefined ? createServer(connected) : createTlsServer(tls, connected);
  server.on("tlsClientError", () => {});
  return watched(server);
}

/** Listens on a free port and counts the sockets of a server. */
export async function watched(server: Server): Promise<BareServer> {
  const sockets = new Set<Socket>();
  let accepted = 0;
  server.on("connection", (socket: Socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    open: () => sockets.size,
    accepted: () => accepted,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
