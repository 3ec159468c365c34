import { createServer } from "node:net";

const first = 20_000;
const count = 10_000;
/** Ports are given out in turn, so that one that is closed for a while is not given to another test of the process. */
let next = Math.floor(Math.random() * count);

/**
 * A free port for a server that is stopped and started again. It lies below the ephemeral range, so no outgoing
 * connection and no other server takes it while the server is down, and a connecting caller cannot reach itself.
 */
export async function fixedPort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = first + (next++ % count);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error("no port between 20000 and 30000 is free");
}
