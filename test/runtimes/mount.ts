import { stdin, stdout } from "node:process";
import { createAgent } from "trivium";
import { answers } from "./agent.js";

// An agent in the runtime's own server. Prints its URL and exits when its standard input ends.

type Handle = (request: Request) => Response | Promise<Response>;

/** The parts of the runtimes' servers that are used here. */
interface Runtimes {
  readonly Bun?: {
    serve(options: { readonly port: 0; readonly hostname: string; readonly fetch: Handle }): {
      readonly url: URL;
      stop(): Promise<void>;
    };
  };
  readonly Deno?: {
    serve(
      options: { readonly port: 0; readonly hostname: string; readonly onListen: () => void },
      handle: Handle,
    ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

const { Bun, Deno } = globalThis as Runtimes;

function listen(handle: Handle): { readonly url: string; readonly stop: () => Promise<void> } {
  const address = { port: 0, hostname: "127.0.0.1" } as const;
  if (Bun !== undefined) {
    const server = Bun.serve({ ...address, fetch: handle });
    return { url: server.url.origin, stop: () => server.stop() };
  }
  const server = Deno?.serve({ ...address, onListen: () => {} }, handle);
  if (server === undefined) throw new Error("neither Bun nor Deno runs this");
  return { url: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}

let handle: Handle = () => new Response(null, { status: 503 });
const server = listen((request) => handle(request));
const agent = await createAgent({
  card: { name: "Mounted", description: "Shouts, counts and refuses", version: "1.0.0" },
  publicUrl: `${server.url}/agent`,
  basePath: "/agent",
  limits: { streamsPerProcess: 1 },
  agent: answers(async (_, signal) => {
    // Waits until the task is canceled.
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }),
});
handle = agent.fetch();
stdout.write(`${server.url}/agent\n`);
stdin.on("end", async () => {
  await agent.close();
  await server.stop();
});
stdin.resume();
