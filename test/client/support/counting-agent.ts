import { artifact, completed, inputRequired, reply, type ServeOptions, type Server, serve, working } from "trivium";
import { A2AError } from "../../../src/protocol/errors.js";

/** An agent that counts its runs. */
export interface CountingAgent extends AsyncDisposable {
  readonly server: Server;
  readonly url: string;
  readonly port: number;
  /** The number of turns begun. */
  readonly runs: number;
}

const card = { name: "Counting", description: "Counts its turns", version: "1.0.0" };

/**
 * Serves an agent over all bindings. It completes a task unless the message says `say`, `ask` or `refuse`; with `wait`
 * it works until the turn is aborted.
 */
export async function countingAgent(options: Partial<ServeOptions> = {}): Promise<CountingAgent> {
  let runs = 0;
  const server = await serve({
    card,
    port: 0,
    drainMs: 0,
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
    async *agent({ text, signal }) {
      runs++;
      if (text === "say") {
        yield reply("said");
        return;
      }
      if (text === "refuse") throw new A2AError("contentTypeNotSupported", "not of that kind");
      yield working();
      if (text === "wait") await new Promise((_, reject) => signal.addEventListener("abort", reject, { once: true }));
      if (text === "ask") {
        yield inputRequired("which?");
        return;
      }
      yield artifact("one ", { artifactId: "a" });
      yield artifact("two", { artifactId: "a", append: true });
      yield completed();
    },
    ...options,
  });
  return {
    server,
    url: server.url,
    port: server.port,
    get runs() {
      return runs;
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}
