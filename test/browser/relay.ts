import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A relay to the agent whose connections can be broken. It knows which of them carry a stream. */
export interface Relay extends AsyncDisposable {
  readonly url: string;
  /** Breaks every connection and returns their number. */
  break(): number;
  /** Resolves when the caller closes a connection that carried a stream. */
  streamLeft(): Promise<void>;
}

export async function startRelay(port: number): Promise<Relay> {
  const callers = new Set<Socket>();
  let left = Promise.withResolvers<void>();
  const server = createServer((caller) => {
    const agent = connect(port, "127.0.0.1");
    let streams = false;
    callers.add(caller);
    caller.pipe(agent).on("error", () => caller.destroy());
    agent.on("data", (piece) => {
      streams ||= piece.includes("text/event-stream");
      caller.write(piece);
    });
    agent.on("close", () => caller.destroy());
    caller.on("error", () => {});
    caller.on("end", () => {
      if (streams) left.resolve();
    });
    caller.on("close", () => {
      callers.delete(caller);
      agent.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): number => {
    for (const caller of callers) caller.resetAndDestroy();
    return callers.size;
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    break: cut,
    async streamLeft() {
      await left.promise;
      left = Promise.withResolvers();
    },
    async [Symbol.asyncDispose]() {
      server.close();
      cut();
      await once(server, "close");
    },
  };
}
