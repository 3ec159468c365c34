// Talks to the agent of server.ts: `node client.ts http://127.0.0.1:41241`.
import { Client } from "trivium";

await using client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:41241");

const asked = await client.send("When is high water?");
console.log(asked.state, asked.text);

const stream = client.stream("Emden", { continue: asked });
for await (const event of stream) {
  if (event.type === "status") console.log(event.state, event.text);
  if (event.type === "artifact") console.log(event.delta.trim());
}

const again = await client.send("And when now?");
const canceling = client.stream("Norderney", { continue: again });
for await (const event of canceling) {
  if (event.type === "artifact" && event.delta.startsWith("3:")) await client.cancelTask({ id: event.taskId });
}
const canceled = await canceling.answer;
console.log(canceled.state, canceled.statusText);
