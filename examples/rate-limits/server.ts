// A translator that limits its callers: a burst, tasks for a day, and a budget of tokens that it charges itself.
import { createHash } from "node:crypto";
import { artifact, serve } from "trivium";
import { apiKey } from "trivium/auth";

const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");
// Keyed by hash, so that the time of a look-up reveals nothing about a key.
const owners = new Map([
  [hashOf("key-of-ann"), "ann"],
  [hashOf("key-of-ben"), "ben"],
]);

const server = await serve({
  card: { name: "Translator", description: "Translates, within limits", version: "1.0.0" },
  auth: { schemes: { key: apiKey({ in: "header", name: "x-api-key", verify: (key) => owners.get(hashOf(key)) }) } },
  rate: {
    owner: { requests: ["20/second", "1000/day"], tasks: "100/day", tokens: "100/day", turns: 2, streams: 5 },
    address: { requests: "600/minute" },
  },
  async *agent({ text, charge }) {
    const words = text.split(" ");
    // A model reports what an answer cost.
    const { left } = await charge({ tokens: 20 * words.length });
    yield artifact(`${words.toReversed().join(" ")} (${left} tokens left)`);
  },
});
console.log(`Translator listens at ${server.url}`);
