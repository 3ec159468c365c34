// An agent that authenticates its callers, and a client that fetches a token when it needs one and renews a refused one.
import { createHash } from "node:crypto";
import { A2AError, Client, reply, serve } from "trivium";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
// Keyed by hash, so that the time of a look-up reveals nothing about a token.
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

// The function returns the headers of each call. It is called again if the agent refuses them. An agent whose card lists
// security schemes needs no function: `credentials: { nameOfTheScheme: "token" }`.
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
