/** Agents of this framework on one port: `/first`, and with each message to `/adds` another one at the path that it names. */
import type { ServedAgentOptions } from "../../src/server/options.js";
import { loadTrivium } from "../built.ts";
import { announce } from "../control.ts";
import { answerText, parseScript } from "../corpus.ts";

const { artifact, completed, reply, serve, working } = await loadTrivium();

const card = (name: string) => ({ name, description: "Answers messages with a reply or a task", version: "1.0.0" });

function agentAt(path: string): ServedAgentOptions {
  return {
    card: card(path),
    async *agent({ text }) {
      if (parseScript(text).verb === "message") return yield reply(answerText);
      yield working();
      yield artifact(answerText);
      yield completed();
    },
  };
}

const adds: ServedAgentOptions = {
  card: card("/adds"),
  async agent({ text: path }) {
    await server.agents.set(path, agentAt(path));
    return reply(answerText);
  },
};

const server = await serve({ port: 0, agents: { "/adds": adds, "/first": agentAt("/first") } });
const port = Number(new URL(server.url).port);
announce({ http: port, grpc: port });
