// Streams a model's tokens as one artifact: `streamArtifact` takes any async iterable of strings.
import { setTimeout as sleep } from "node:timers/promises";
import { serve, streamArtifact, working } from "trivium";

async function* model(prompt: string, signal: AbortSignal): AsyncGenerator<string> {
  for (const word of `You said ${prompt}. I have nothing to add.`.split(/(?<= )/)) {
    await sleep(20, undefined, { signal });
    yield word;
  }
}

const server = await serve({
  card: { name: "Talker", description: "Streams an answer word by word", version: "1.0.0" },
  async *agent({ text, signal }) {
    yield working();
    yield* streamArtifact(model(text, signal), { name: "answer" });
  },
});
console.log(`Talker listens at ${server.url}`);
