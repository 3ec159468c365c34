import { postgresStore } from "../../../src/store/postgres/index.js";
import { appendTo, newTask } from "../../../src/testing/contract/fixtures.js";

// A process that opens, uses and closes a store, and prints when each is done. A store that is "left" is not closed.

const [url = "", use = "used", hints = "true"] = process.argv.slice(2);
const say = (word: string): void => void process.stdout.write(`${word}\n`);
const store = postgresStore({ url, hints: hints === "true", pool: { max: 3 } });
if (hints === "true") store.signals?.subscribe(() => {});
if (["opened", "used", "left"].includes(use)) await store.open?.();
if (use === "opening") store.open?.().catch(() => {});
if (use === "used" || use === "left") {
  const heads = await Promise.all([1, 2, 3].map((n) => store.create(newTask({ id: `${process.pid}-${n}` }))));
  for (const head of heads) await store.append(appendTo(head));
  await Promise.all(heads.map(({ scope, id }) => store.read(scope, id)));
  say("used");
}
if (use === "served") {
  const { completed, serve } = await import("../../../src/index.js");
  const { connectTo } = await import("../../../src/testing/index.js");
  const card = { name: "Closing", description: "Ends", version: "1.0.0" };
  const server = await serve({ card, store, port: 0, agent: async () => completed() });
  await using client = await connectTo(server);
  await client.send("go");
  await server.close();
  say("served");
}
if (use !== "left") {
  await store.close();
  say("closed");
  await store.close();
  say("closed twice");
}
