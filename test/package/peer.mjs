import { artifact, data, inputRequired, text as part, serve } from "trivium";

// The agent that programs of the pages call.

const peer = {
  card: { name: "Peer", description: "Is called by the programs of the pages", version: "1.0.0" },
  async *agent({ text, task }) {
    if (task === undefined && text.includes("berth")) return yield inputRequired("For which ship?");
    yield artifact([part(text), data({ high: "03:10" })]);
  },
};
// At the paths that the pages name.
const server = await serve({ port: 0, agents: { "/": peer, "/weather": peer, "/travel": peer } });
process.stdout.write(`Listens at ${server.url}\n`);
