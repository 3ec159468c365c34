// Calls the agent at a URL: sends a message, answers its question, and prints the answer as it arrives.
// Start one first: `node examples/input-required/server.ts`, then `node examples/client/client.ts http://127.0.0.1:41241`.
import { Client } from "trivium";

const [url = "http://127.0.0.1:41241", question = "a berth, please", reply = "MV Alba, 190 m"] = process.argv.slice(2);

await using client = await Client.connect(url);
console.log(`${client.card.name}: ${client.card.description}`);

let answer = await client.send(question);
if (answer.state === "input-required") {
  console.log(`asks: ${answer.text}`);
  answer = await client.send(reply, { continue: answer });
}
console.log(`says: ${answer.text}`);
console.log(`over ${client.connection?.binding}`);
