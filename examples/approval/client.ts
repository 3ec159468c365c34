// Sends a message to the agent of server.ts, or the answer to what it asked:
//   node client.ts http://127.0.0.1:41241 "MV Alba"
//   node client.ts http://127.0.0.1:41241 yes '{"taskId":"…","contextId":"…"}'
import { Client } from "trivium";

const [url = "http://127.0.0.1:41241", message = "MV Alba", asked] = process.argv.slice(2);

await using client = await Client.connect(url);
const answer = await client.send(message, asked === undefined ? {} : { continue: JSON.parse(asked) });
console.log(`${answer.state}: ${answer.text}`);
if (answer.state === "input-required") {
  const { taskId, contextId } = answer;
  console.log(JSON.stringify({ taskId, contextId }));
}
