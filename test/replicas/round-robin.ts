import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { play } from "../support/fault-connection.js";

/** A proxy for raw connections: each goes to the next port and stays there. */
export interface RoundRobin extends AsyncDisposable {
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** How many connections each port has received. */
  countByPort(): ReadonlyMap<number, number>;
  /** Sets the ports of later connections, in this order. */
  lead(ports: readonly number[]): void;
  /** Sends no more connections to a port and breaks those it has. */
  drop(port: number): void;
}

const lastWordsMs = 1000;

export async function roundRobin(ports: readonly number[] = []): Promise<RoundRobin> {
  const proxy = new PortsInTurn(ports);
  await proxy.listen();
  return proxy;
}

class PortsInTurn implements RoundRobin {
  port = 0;
  readonly #taken = new Map<number, number>();
  readonly #callers = new Map<Socket, number>();
  readonly #server: Server;
  #ports: readonly number[];
  #next = 0;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (caller) => this.#accept(caller));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.port = (this.#server.address() as AddressInfo).port;
  }

  countByPort(): ReadonlyMap<number, number> {
    return this.#taken;
  }

  lead(ports: readonly number[]): void {
    this.#ports = ports;
  }

  drop(port: number): void {
    this.#ports = this.#ports.filter((other) => other !== port);
    for (const [caller, at] of this.#callers) if (at === port) caller.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    // The server's last bytes may still be on their way to the caller, whose end closes the connection.
    const late = setTimeout(() => {
      for (const caller of this.#callers.keys()) caller.destroy();
    }, lastWordsMs);
    await closed;
    clearTimeout(late);
  }

  #accept(caller: Socket): void {
    const port = this.#ports[this.#next++ % this.#ports.length];
    caller.on("error", () => {});
    if (port === undefined) {
      caller.resetAndDestroy();
      return;
    }
    this.#taken.set(port, (this.#taken.get(port) ?? 0) + 1);
    this.#callers.set(caller, port);
    caller.on("close", () => this.#callers.delete(caller));
    // If the port does not listen, the caller finds its connection broken.
    play({ kind: "pass" }, { caller, target: { port }, onProgress: () => {} });
  }
}
