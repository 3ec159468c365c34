/**
 * This framework as its users get it: `serve` with its defaults, from the built package. The first argument names another
 * store than the one in memory: `sqlite:NORMAL:FILE`, `sqlite:FULL:FILE` or `postgres://…`.
 */
import { setTimeout as delay, setImmediate as givenWay } from "node:timers/promises";
import type { VersionName } from "../../src/version/versions.js";
import { loadTrivium } from "../built.ts";
import { announce } from "../control.ts";
import { answerText, artifactId, chunkText, parseScript, pausesAfter, stamp } from "../corpus.ts";
import { storeNamed } from "./ours-store.ts";

const { artifact, completed, failed, reply, serve, working } = await loadTrivium();

const versions = process.env["BENCH_VERSIONS"]?.split(",") as VersionName[] | undefined;
const server = await serve({
  versions,
  store: await storeNamed(process.argv[2]),
  card: { name: "Bench", description: "Answers the scripts of the benchmark", version: "1.0.0" },
  port: 0,
  async *agent({ text, signal }) {
    const { verb, count } = parseScript(text);
    if (verb === "message") {
      yield reply(answerText);
      return;
    }
    yield working();
    if (verb === "task" || verb === "fail") yield artifact(answerText);
    if (verb === "hold") await waitForAbort(signal);
    for (let index = 0; index < count; index++) {
      yield artifact(verb === "rush" && index === 0 ? stamp() : chunkText(index), { artifactId, append: index > 0 });
      if (verb === "stream") await givenWay();
      if (verb === "paced" && pausesAfter(index, count)) await delay(1);
    }
    yield verb === "fail" ? failed() : completed();
  },
});
const port = Number(new URL(server.url).port);
announce({ http: port, grpc: port });

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
