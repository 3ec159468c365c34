// The agent that asks. It passes on the stream of the other one, its questions and its errors, and cancels its task.
import { artifact, Client, type Continuation, failed, inputRequired, serve } from "trivium";

const tides = await Client.connect(process.env["TIDES"] ?? "http://127.0.0.1:41242");

const server = await serve({
  card: { name: "Harbor", description: "Plans arrivals", version: "1.0.0" },
  async *agent({ message, context, signal }) {
    const before = (await context.get("tides")) as Continuation | undefined;
    const stream = tides.stream(message.parts, { continue: before, signal, cancelOnAbort: true });
    for await (const event of stream) {
      if (event.type !== "artifact") continue;
      const { artifactId, append, last } = event;
      yield artifact(event.artifact?.parts ?? [], { artifactId, append, lastChunk: last });
    }
    const { taskId, contextId, state, statusText } = await stream.answer;
    await context.update("tides", () => ({ taskId, contextId, state }));
    if (state === "input-required") yield inputRequired(statusText);
    if (state === "failed" || state === "rejected") yield failed(statusText);
  },
});
console.log(`Harbor listens at ${server.url}`);
