/** This framework with callers that are limited, far above what the benchmark asks for. */
import { loadTrivium } from "../built.ts";
import { announce } from "../control.ts";
import { answerText } from "../corpus.ts";

const { reply, serve } = await loadTrivium();

const much = "1000000000/day";

const server = await serve({
  card: { name: "Bench", description: "Answers callers that are limited", version: "1.0.0" },
  port: 0,
  rate: { address: { requests: much }, all: { requests: much, tasks: much, bytes: much, turns: 1000 } },
  agent: async () => reply(answerText),
});
const port = Number(new URL(server.url).port);
announce({ http: port, grpc: port });
