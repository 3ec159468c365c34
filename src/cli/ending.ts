import type { Store } from "../core/ports.js";
import type { Logger } from "../protocol/logger.js";
import type { Server } from "../server/serve.js";

/** Closes the server and then its store on SIGTERM and SIGINT, and ends the process. */
export function endOnSignals(server: Server, store: Pick<Store, "close"> | undefined, logger: Logger): void {
  const end = async (): Promise<void> => {
    await server.close();
    await store?.close();
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      logger.info({ signal }, "closing");
      end().then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ err: error }, "the server could not be closed");
          process.exit(1);
        },
      );
    });
  }
}
