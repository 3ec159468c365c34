// The agent that is asked. It streams its answer, and asks for the place if it does not know it.
import { setTimeout as sleep } from "node:timers/promises";
import { A2AError, artifact, inputRequired, serve } from "trivium";

const server = await serve({
  card: { name: "Tides", description: "Knows when the water is high", version: "1.0.0" },
  async *agent({ text, conversation, signal }) {
    if (text === "here") return yield inputRequired("Which harbor?");
    if (text === "Atlantis") throw new A2AError("invalidParams", "there is no harbor of that name");
    const before = await conversation();
    const number = before.filter(({ role }) => role === "user").length + 1;
    for (const word of `Question ${number}: high water in ${text} is at four.`.split(/(?<= )/)) {
      yield artifact(word, { artifactId: "forecast", append: !word.startsWith("Question") });
      await sleep(Number(process.env["WORD_MS"] ?? 100), undefined, { signal });
    }
  },
});
console.log(`Tides listens at ${server.url}`);
