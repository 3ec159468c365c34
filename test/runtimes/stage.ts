import { createServer } from "node:http";
import { A2AError, type Server, serve } from "trivium";
import { apiKey } from "../auth/sources.js";
import { startRelay } from "../browser/relay.js";
import { type CardServer, cardServer } from "../client/support/card-server.js";
import { cardOf, interfaceAt } from "../client/support/cards.js";
import { serveHttp } from "../support/http-agent.js";
import { localTls } from "../support/tls.js";
import { answers } from "./agent.js";
import type { Locations } from "./scenarios.js";

/** All servers that the scenarios call. */
export interface Stage extends AsyncDisposable {
  readonly places: Locations;
  /** Requests that a redirect led to another origin. */
  readonly ledAway: CardServer["requests"];
  /** Secrets received by the redirecting agent. */
  secrets(): readonly unknown[];
  /** Called before each scenario. */
  reset(): void;
}

export async function startStage(): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  let goOn = Promise.withResolvers<void>();
  const card = { name: "Counter", description: "Counts, shouts and refuses", version: "1.0.0" };
  const agent = answers((_, signal) => {
    signal.addEventListener("abort", () => goOn.resolve());
    return goOn.promise;
  });
  const started = async (server: Promise<Server>): Promise<Server> => stack.use(await server);
  const open = await started(
    serve({
      card,
      agent,
      port: 0,
      drainMs: 0,
      bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
      authenticate({ header }) {
        if (header("authorization") === undefined) return { owner: header("x-api-key") ?? "anybody" };
        throw new A2AError("unauthenticated", "a token is needed", { challenge: 'Bearer realm="counter"' });
      },
    }),
  );
  const tls = { ...localTls, ca: localTls.cert, requestCert: true, rejectUnauthorized: true };
  const secure = await started(serve({ card, agent, port: 0, drainMs: 0, tls }));
  const narrow = await started(serve({ card, agent, port: 0, drainMs: 0, limits: { streamsPerProcess: 1 } }));
  const relay = stack.use(await startRelay(Number(new URL(open.url).port)));
  const ask = stack.use(
    await serveHttp(
      createServer((_, response) => {
        relay.break();
        goOn.resolve();
        response.end();
      }),
    ),
  );
  const { leading, elsewhere } = await leadingAway(stack);
  stack.defer(() => goOn.resolve());
  const resources = stack.move();
  return {
    places: {
      agent: relay.url,
      ask: `${ask.url}/`,
      narrow: narrow.url,
      // In Bun and Deno grpc-js cannot connect to an IP address over TLS.
      secure: secure.url.replace("127.0.0.1", "localhost"),
      leading: leading.url,
      ...localTls,
    },
    ledAway: elsewhere.requests,
    secrets: () => leading.requests.map(({ headers }) => headers["x-api-key"]).filter((secret) => secret !== undefined),
    reset() {
      goOn = Promise.withResolvers();
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/** A server whose card and redirects lead to another origin. */
async function leadingAway(
  stack: AsyncDisposableStack,
): Promise<Readonly<Record<"leading" | "elsewhere", CardServer>>> {
  const cards: Record<string, object> = {};
  const elsewhere = stack.use(await cardServer(cards));
  const leading = stack.use(
    await cardServer({
      "/.well-known/agent-card.json": (_, response) =>
        response.writeHead(302, { location: `${elsewhere.url}/card.json` }).end(),
      "/json-rpc": (_, response) => response.writeHead(307, { location: `${elsewhere.url}/json-rpc` }).end(),
    }),
  );
  cards["/card.json"] = cardOf([interfaceAt("JSONRPC", leading.url)], {
    securitySchemes: { key: apiKey("header", "x-api-key") },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
  });
  return { leading, elsewhere };
}
