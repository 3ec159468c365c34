/** This framework with callers that it tells apart: the bearer token of a call names its owner. */
import { loadTrivium } from "../built.ts";
import { announce } from "../control.ts";
import { answerText } from "../corpus.ts";
import { parseDemand } from "../demand.ts";

const { A2AError, artifact, completed, inputRequired, reply, serve, working } = await loadTrivium();

const server = await serve({
  card: { name: "Bench", description: "Does what it is asked for, however much", version: "1.0.0" },
  port: 0,
  authenticate: (caller) => {
    const [, owner] = /^Bearer (\S+)$/.exec(caller.header("authorization") ?? "") ?? [];
    if (owner === undefined) throw new A2AError("unauthenticated", "a bearer token is missing");
    return { owner };
  },
  async *agent({ text, signal }) {
    const { verb, count, bytes } = parseDemand(text);
    if (verb === "message") {
      yield reply(answerText);
      return;
    }
    yield working();
    if (verb === "ask") {
      yield inputRequired("And then?");
      return;
    }
    for (let index = 0; index < count; index++) {
      const artifactId = verb === "replace" ? "same" : `artifact-${index}`;
      yield artifact("x".repeat(bytes), { artifactId });
    }
    if (verb === "hold") await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield completed();
  },
});
const port = Number(new URL(server.url).port);
announce({ http: port, grpc: port });
