import { createServer } from "node:net";

/**
 * A free port for a server that is stopped and started again. It lies below the ephemeral range, so no outgoing
 * connection takes it while the server is down, and a connecting caller cannot reach itself.
 */
export async function fixedPort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error("no port between 20000 and 30000 is free");
}
