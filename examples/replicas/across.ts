// Starts a task at one replica, and finds and cancels it at another one.
import { Client, stateName } from "trivium";

const [one = "http://127.0.0.1:8081", other = "http://127.0.0.1:8082"] = process.argv.slice(2);

await using here = await Client.connect(one);
await using there = await Client.connect(other);
const { taskId } = await here.send("1000", { configuration: { returnImmediately: true } });

const { tasks } = await there.listTasks({ pageSize: 1 });
console.log(`listed there: ${tasks[0]?.id === taskId}`);
await there.cancelTask({ id: taskId });
console.log(`here: ${stateName((await here.getTask({ id: taskId })).status?.state)}`);
