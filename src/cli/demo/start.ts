import { pino } from "pino";
import type { ServeOptions } from "../../server/options.js";
import { isLoopback, serve } from "../../server/serve.js";
import type { DemoFlags } from "../demo.js";
import { packageVersion } from "../package-version.js";
import { textAnalyst } from "./agent.js";
import { analystCard } from "./card.js";
import { greeting } from "./greeting.js";

/** Serves the demo agent, and prints what to try. Throws an error with one sentence for people. */
export async function start({ port, host, anonymous, logLevel }: DemoFlags): Promise<void> {
  if (!anonymous && !isLoopback(host)) {
    throw new Error(`other machines can reach host ${host}: say --anonymous to let all callers share all tasks`);
  }
  const logger = pino(
    { level: logLevel, base: null, serializers: { error: pino.stdSerializers.err } },
    pino.destination({ dest: 2, sync: true }),
  );
  const options: ServeOptions = {
    card: analystCard(packageVersion()),
    agent: textAnalyst,
    port,
    host,
    anonymous: anonymous ? "shared" : undefined,
    logger,
    handleSignals: true,
  };
  try {
    process.stdout.write(greeting(await serve(options)));
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    throw new Error(`port ${port} on ${host} is taken: choose another one with --port`);
  }
}

function isPortTaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
}
