// Talks to the agent of server.ts: `node client.ts http://127.0.0.1:41241`.
import { Client } from "trivium";

await using client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:41241");

const stream = client.stream("a letter to the harbor master");
let tokens = 0;
for await (const event of stream) if (event.type === "artifact" && event.delta !== "") tokens++;
let answer = await stream.answer;
console.log(`a letter in ${tokens} tokens: ${answer.artifacts[0]?.text}`);

for (const reply of ["be more polite", "yes"]) {
  console.log(`${answer.state}: ${answer.statusText} ${reply}`);
  answer = await client.send(reply, { continue: answer });
  console.log(answer.artifacts.map(({ text }) => text).join());
}
console.log(answer.state);
