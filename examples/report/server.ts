// Reports on a text: progress and a streamed report, then the figures as data and a table as a file.
import { artifact, data, file, serve, streamArtifact, type Turn, working } from "trivium";

async function* lines(counts: ReadonlyMap<string, number>): AsyncGenerator<string> {
  yield "# Words\n\n";
  for (const [word, count] of counts) yield `- ${word}: ${count}\n`;
}

const server = await serve({
  card: { name: "Reporter", description: "Counts the words of a text", version: "1.0.0" },
  async *agent({ text }: Turn) {
    yield working("counting words");
    const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
    const counts = new Map([...Map.groupBy(words, (word) => word)].map(([word, all]) => [word, all.length]));
    yield working(`writing about ${counts.size} words`);
    yield* streamArtifact(lines(counts), { name: "report.md" });
    const table = new TextEncoder().encode([...counts].map((row) => `${row.join(",")}\n`).join(""));
    const csv = file(table, { filename: "words.csv", mediaType: "text/csv" });
    yield artifact([data(Object.fromEntries(counts)), csv], { name: "figures" });
  },
});
console.log(`Reporter listens at ${server.url}`);
