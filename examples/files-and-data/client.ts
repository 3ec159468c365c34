// Sends tables to the agent of server.ts: `node client.ts http://127.0.0.1:41241`.
import { A2AError, Client, data, file, fileFrom } from "trivium";
import { z } from "zod";

const Figures = z.object({ least: z.number(), greatest: z.number(), unit: z.string() });

await using client = await Client.connect(process.argv[2] ?? "http://127.0.0.1:41241");

const table = await fileFrom(new URL("depths.csv", import.meta.url));
const answer = await client.send([table, data({ column: "depth" })]);
console.log(answer.data(Figures));
for (const { name, mediaType, bytes } of answer.files) {
  console.log(name, mediaType, new TextDecoder().decode(bytes()).split("\n"));
}

for (const order of [{ column: "width" }, { column: "depth", unit: "km" }]) {
  try {
    await client.send([table, data(order)]);
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    console.log(error.code, error.reason, error.metadata, error.violations[0]?.field);
  }
}

const broken = file(new TextEncoder().encode("depth\n12\nshallow"), { filename: "broken.csv", mediaType: "text/csv" });
const failure = await client.send([broken, data({ column: "depth" })]);
console.log(failure.state, failure.text, failure.data());
