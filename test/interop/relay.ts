import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { AgentCard } from "../../src/protocol/model.js";

/** A relay between a client and an agent's interfaces that can cut connections. */
export interface Relay extends AsyncDisposable {
  /** The agent's card with the relay's addresses. */
  readonly card: AgentCard;
  /** Breaks every open connection. */
  cut(): void;
}

/** Starts a relay for each interface of a card. */
export async function relayTo(card: AgentCard): Promise<Relay> {
  const sockets = new Set<Socket>();
  const servers: ReturnType<typeof createServer>[] = [];
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  };
  const listen = async (authority: string): Promise<string> => {
    const { hostname: host, port } = new URL(`http://${authority}`);
    const server = createServer((near) => {
      const far = connect(Number(port), host);
      for (const socket of [near, far]) keep(socket);
      near.pipe(far).pipe(near);
      near.on("close", () => far.destroy());
      far.on("close", () => near.destroy());
    });
    servers.push(server.listen(0, "127.0.0.1"));
    await once(server, "listening");
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  // Interfaces with the same URL keep sharing one: clients tell by that which versions an agent may speak there.
  const places = new Map<string, Promise<string>>();
  const relayed = async (url: string): Promise<string> => {
    const [authority = ""] = /[\w.]+:\d+/.exec(url) ?? [];
    const place = places.get(authority) ?? listen(authority);
    places.set(authority, place);
    return url.replace(authority, await place);
  };
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const interfaces = card.supportedInterfaces.map(async (each) => ({ ...each, url: await relayed(each.url) }));
  return {
    card: { ...card, supportedInterfaces: await Promise.all(interfaces) },
    cut,
    async [Symbol.asyncDispose]() {
      for (const server of servers) server.close();
      cut();
    },
  };
}
