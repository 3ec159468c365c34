// Reads a report as it is written. The client resumes a broken stream by itself, so it has nothing to do when the agent dies.
import { Client } from "trivium";

await using client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:41241");
for await (const delta of client.stream("Write the report.").text) process.stdout.write(delta);
process.stdout.write("\n");
