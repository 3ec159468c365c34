// Calls the agent at a URL: sends a message, answers what it asks back, and shows what it says as it says it.
// Start one first: `node examples/input-required/server.ts`, then `node examples/client/client.ts http://127.0.0.1:41241`.
import { Client, type Message, type Part, type Task, TaskState } from "trivium";

const [url = "http://127.0.0.1:41241", question = "a berth, please", reply = "MV Alba, 190 m"] = process.argv.slice(2);

await using client = await Client.connect(url);
console.log(`${client.card.name}: ${client.card.description}`);

let answer = await client.send(question);
if (isTask(answer) && answer.status?.state === TaskState.INPUT_REQUIRED) {
  console.log(`asks: ${textOf(answer.status.message?.parts)}`);
  answer = await client.continue(answer, reply);
}
console.log(`says: ${textOf(isTask(answer) ? answer.artifacts[0]?.parts : answer.parts)}`);
console.log(`over ${client.connection?.binding}`);

function isTask(answer: Message | Task): answer is Task {
  return answer.$typeName === "lf.a2a.v1.Task";
}

function textOf(parts: readonly Part[] = []): string {
  return parts.map(({ content }) => (content.case === "text" ? content.value : "")).join("");
}
