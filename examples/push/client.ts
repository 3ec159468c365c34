// Starts a task and leaves; the webhook gets the rest.
import { Client } from "trivium";

const [agent = "http://127.0.0.1:41241", url = "http://127.0.0.1:4000/hook"] = process.argv.slice(2);
const { TOKEN: token = "a-long-random-token" } = process.env;

await using client = await Client.connect(agent);
const answer = await client.send("the Jade", {
  configuration: { returnImmediately: true, taskPushNotificationConfig: { url, token } },
});
console.log(`task ${answer.taskId} is ${answer.state}`);
