// An agent as a Fetch handler, for Bun, Deno, Next, Hono and workers. Here Node's own server calls it.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { artifact, createAgent } from "trivium";

const agent = await createAgent({
  card: { name: "Reverser", description: "Says it backwards", version: "1.0.0" },
  async *agent({ text }) {
    yield artifact([...text].reverse().join(""));
  },
});
const handle = agent.fetch();

const server = createServer(async (incoming, outgoing) => {
  const { method = "GET", headers, url = "/" } = incoming;
  const body = method === "GET" || method === "HEAD" ? null : Readable.toWeb(incoming);
  const request = new Request(`http://${headers.host}${url}`, {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    body,
    duplex: "half",
  } as RequestInit);
  const response = await handle(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const chunk of response.body ?? []) outgoing.write(chunk);
  outgoing.end();
});
server.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  console.log(`Reverser listens at http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
});
