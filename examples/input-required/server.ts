// Two ways to ask the caller: wait for the answer (`ask`), or return and run again with the task (`turn.task`).
import { artifact, inputRequired, serve } from "trivium";

const server = await serve({
  card: { name: "Berths", description: "Finds a berth for a ship", version: "1.0.0" },
  async *agent({ text, task, ask }) {
    if (task !== undefined) {
      yield artifact(`A berth for ${text} is free from noon.`);
      return;
    }
    if (text.includes("quick")) {
      yield inputRequired("For which ship?");
      return;
    }
    const ship = await ask(inputRequired("For which ship, and how long is it?"));
    yield artifact(`Berth N4 fits: ${ship.parts.map(({ content }) => content.value).join(" ")}.`);
  },
});
console.log(`Berths listens at ${server.url}`);
