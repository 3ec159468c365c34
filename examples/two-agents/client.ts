// Asks the harbor, which asks the tides. Start tides.ts with PORT=41242, then harbor.ts, then this.
import { A2AError, Client } from "trivium";

const [harborUrl = "http://127.0.0.1:41241", tidesUrl = "http://127.0.0.1:41242"] = process.argv.slice(2);
await using harbor = await Client.connect(harborUrl);

const stream = harbor.stream("Emden");
for await (const delta of stream.text) console.log(delta);
const answer = await stream.answer;

// The tides know this conversation too.
const second = await harbor.send("Norden", { continue: answer });
console.log(second.text);

const asked = await harbor.send("here", { continue: second });
console.log(asked.state, asked.text);
const third = await harbor.send("Jade", { continue: asked });
console.log(third.text);

const error = await harbor.send("Atlantis").catch((thrown: unknown) => thrown);
if (error instanceof A2AError) console.log(error.code, error.message);

for await (const event of harbor.stream("Wilhelmshaven")) {
  if (event.type === "artifact" && !event.append) await harbor.cancel(event.taskId);
  if (event.type === "status") console.log(event.state);
}
await using tides = await Client.connect(tidesUrl);
const { tasks } = await tides.listTasks({ pageSize: 1 });
console.log((await tides.wait(tasks[0]?.id ?? "")).state);
