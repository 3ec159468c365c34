import { artifact, serve } from "trivium";

const server = await serve({
  card: { name: "Echo", description: "Repeats what you say", version: "1.0.0" },
  async *agent({ text }) {
    yield artifact(text);
  },
});
console.log(`Echo listens at ${server.url}`);
