// Falls back from an interface that does not answer, reads each line once even if the connection breaks, and cancels a task.
// Start `node examples/client-resume/server.ts`, then `node examples/client-resume/client.ts`.
import { Client } from "trivium";

await using client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:41241", {
  onConnection({ binding, skipped }) {
    for (const other of skipped) console.log(`no answer over ${other.binding}`);
    console.log(`connected over ${binding}`);
  },
});

for await (const delta of client.stream("20 lines").text) process.stdout.write(delta);

const { taskId } = await client.send("1000 lines", { configuration: { returnImmediately: true } });
const answer = await client.cancel(taskId);
console.log(`the second report is ${answer.state}`);
