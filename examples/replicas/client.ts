// Reads a count as it is made. Each status names the process that counts.
import { Client } from "trivium";

const [url = "http://127.0.0.1:8080", number = "50"] = process.argv.slice(2);

await using client = await Client.connect(url);
const stream = client.stream(number);
for await (const event of stream) {
  if (event.type === "status" && event.text !== "") console.log(`\n${event.text}`);
  if (event.type === "artifact") process.stdout.write(event.delta);
}
console.log(`\n${(await stream.answer).state}`);
