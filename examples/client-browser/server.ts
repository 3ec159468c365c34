// A page that calls an agent on another origin. The agent allows that origin by `cors`. The page's module is bundled, with
// code that it rarely needs in files of its own.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { serve, streamArtifact } from "trivium";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const site = createServer();
site.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1");
await once(site, "listening");
const address = site.address();
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : address}`;

async function* written(text: string, signal: AbortSignal): AsyncGenerator<string> {
  for (const word of text.split(/(?<= )/)) {
    await sleep(40, undefined, { signal });
    yield word;
  }
}

const agent = await serve({
  card: { name: "Pilot", description: "Describes harbours", version: "1.0.0" },
  port: 0,
  cors: { origins: [origin] },
  async *agent({ text, signal }) {
    yield* streamArtifact(written(`${text} is reached from the north-west.`, signal), { name: "Approach" });
    yield* streamArtifact(written("Berths along the outer quay, water at all tides.", signal), { name: "Berths" });
  },
});

const bundle = await rolldown({ input: path("page.js"), platform: "browser", tsconfig: false });
const { output } = await bundle.generate({ format: "esm", minify: true });
const files = new Map(output.map((file) => [`/${file.fileName}`, file.type === "chunk" ? file.code : file.source]));
const page = (await readFile(path("index.html"), "utf8")).replace("AGENT_URL", agent.url);

site.on("request", ({ url = "/" }, response) => {
  const code = files.get(url);
  if (code !== undefined) response.writeHead(200, { "Content-Type": "text/javascript" }).end(code);
  else if (url === "/") response.writeHead(200, { "Content-Type": "text/html" }).end(page);
  else response.writeHead(404).end();
});
console.log(`the page is at ${origin}`);
