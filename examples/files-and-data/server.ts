// Takes a table as a CSV file and an order as data, and returns figures as data and a column as a file. A wrong order gets
// an error that programs can read.
import { A2AError, artifact, data, failed, file, serve, text, working } from "trivium";
import { z } from "zod";

const Order = z.object({ column: z.string(), unit: z.enum(["m", "ft"]).default("m") });

const server = await serve({
  card: {
    name: "Soundings",
    description: "Sums up tables of depths",
    version: "1.0.0",
    defaultInputModes: ["text/csv", "application/json"],
    defaultOutputModes: ["application/json", "text/plain"],
  },
  async *agent(turn) {
    const { column, unit } = turn.data(Order);
    const [table] = turn.files;
    if (table === undefined) throw new A2AError("invalidParams", "send the table as a CSV file");
    const [header = [], ...rows] = parse(new TextDecoder().decode(table.bytes()));
    const at = header.indexOf(column);
    if (at < 0) {
      // Before the first event, the caller gets the error instead of a task.
      throw new A2AError("invalidParams", `the table has no column "${column}"`, {
        reason: "NO_SUCH_COLUMN",
        domain: "soundings.example",
        metadata: { columns: header.join(",") },
      });
    }
    yield working(`reading ${rows.length} rows of ${table.name ?? "the table"}`);
    const depths = rows.map((row) => Number(row[at]));
    const row = depths.findIndex(Number.isNaN);
    if (row >= 0) {
      // Later, the task fails. Programs read the data in its status.
      yield failed([text(`row ${row + 1} has no depth`), data({ reason: "NOT_A_NUMBER", row: row + 1 })]);
      return;
    }
    const figures = { least: Math.min(...depths), greatest: Math.max(...depths), unit };
    const list = file(new TextEncoder().encode(depths.join("\n")), {
      filename: `${column}.txt`,
      mediaType: "text/plain",
    });
    yield artifact([data(figures), list], { name: "figures" });
  },
});
console.log(`Soundings listens at ${server.url}`);

function parse(csv: string): string[][] {
  const lines = csv.trim().split("\n");
  return lines.map((line) => line.split(","));
}
