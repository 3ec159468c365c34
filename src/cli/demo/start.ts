import { type Logger, pino } from "pino";
import type { ServeOptions } from "../../server/options.js";
import { isLoopback, type Server, serve } from "../../server/serve.js";
import type { DemoFlags } from "../demo.js";
import { packageVersion } from "../package-version.js";
import { openStorage, type StorePlace } from "../store-place.js";
import { textAnalyst } from "./agent.js";
import { analystCard } from "./card.js";
import { greeting } from "./greeting.js";

/** Serves the demo agent, and prints what to try. Throws an error with one sentence for people. */
export async function start(flags: DemoFlags, place: StorePlace): Promise<void> {
  const { port, host, anonymous, allowedHost: allowedHosts, logLevel } = flags;
  if (!anonymous && !isLoopback(host)) {
    throw new Error(`other machines can reach host ${host}: say --anonymous to let all callers share all tasks`);
  }
  const logger = pino(
    { level: logLevel, base: null, serializers: { error: pino.stdSerializers.err } },
    pino.destination({ dest: 2, sync: true }),
  );
  const store = await openStorage(place, logger);
  const options: ServeOptions = {
    card: analystCard(packageVersion()),
    agent: textAnalyst,
    // It does nothing but read what it was sent.
    restartable: true,
    port,
    host,
    anonymous: anonymous ? "shared" : undefined,
    allowedHosts,
    logger,
    store,
  };
  let server: Server;
  try {
    server = await serve(options);
  } catch (error) {
    await store?.close();
    if (!isPortTaken(error)) throw error;
    throw new Error(`port ${port} on ${host} is taken: choose another one with --port`);
  }
  const end = async (): Promise<void> => {
    await server.close();
    await store?.close();
  };
  endOnSignals(end, logger);
  process.stdout.write(greeting(server, place));
}

// The server would do this by itself, but not close the store.
function endOnSignals(end: () => Promise<void>, logger: Logger): void {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => {
      logger.info({ signal }, "closing");
      end().then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ error }, "the server could not be closed");
          process.exit(1);
        },
      );
    });
  }
}

function isPortTaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
}
