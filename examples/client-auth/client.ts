// An agent that asks who is calling, and a client whose token is fetched when it is needed and renewed when it is refused.
import { createHash } from "node:crypto";
import { A2AError, Client, reply, serve } from "trivium";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
// By their hashes, so that the time of a look-up says nothing about a token.
const tokens = new Map([[hashOf("demo-token"), "harbour office"]]);

await using server = await serve({
  card: { name: "Gate", description: "Greets those it knows", version: "1.0.0" },
  port: 0,
  authenticate({ bearer = "" }) {
    const owner = tokens.get(hashOf(bearer));
    if (owner === undefined) throw new A2AError("unauthenticated", "a token is needed", { challenge: "Bearer" });
    return { owner };
  },
  async *agent({ principal }) {
    yield reply(`Good morning, ${principal.owner}.`);
  },
});

// A function gives each call what it needs; it is asked once more when the agent has refused that. Agents whose card lists
// its security schemes need no function: `credentials: { nameOfTheScheme: "token" }`.
let token = "expired-token";
await using client = await Client.connect(server.url, {
  credentials({ refused }) {
    if (refused !== undefined) {
      console.log(`refused: ${refused.code}, challenge: ${refused.challenge}`);
      token = "demo-token";
    }
    return { headers: { authorization: `Bearer ${token}` } };
  },
});
const answer = await client.send("hello");
console.log(answer.text);
