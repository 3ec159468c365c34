// Talks to the agent of server.ts: `node client.ts http://127.0.0.1:41241`.
import { Client } from "trivium";

await using client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:41241");

const first = client.stream("we are the Alba");
const tokens: string[] = [];
for await (const token of first.text) tokens.push(token);
console.log(tokens.join("|"));

const second = await client.send("which berth is free?", { continue: await first.answer });
console.log(second.text);

const endless = client.stream("count the buoys");
for await (const event of endless) {
  if (event.type === "artifact" && event.delta === " 3") await client.cancelTask({ id: event.taskId });
  if (event.type === "status") console.log(event.state);
}

const broken = await client.send("please break");
console.log(
  broken.state,
  broken.artifacts.map(({ text }) => text),
);
