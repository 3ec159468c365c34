// A program that serves an agent, is asked something in 0.3, and says which versions' code that has loaded.
import { watchLoading } from "../support/loaded-sources.mjs";

const sources = watchLoading();
const { completed, serve } = await import("trivium");
const [names] = process.argv.slice(2);
const server = await serve({
  card: { name: "Loaded", description: "Says what it has loaded", version: "1.0.0" },
  port: 0,
  versions: JSON.parse(names),
  push: { allow: "loopback" },
  agent: async () => completed(),
});
const card = await fetch(`${server.url}/.well-known/agent-card.json`);
const post = (body) =>
  fetch(`${server.url}/json-rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const kind = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "x" }] };
const answer = await post({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message: kind } });
const { error } = await answer.json();
await server.close();
/** Versions of which any file was loaded, and those that were put together. */
const named = (pattern) => [...new Set([...sources].flatMap((source) => pattern.exec(source)?.[1] ?? []))].toSorted();
process.stdout.write(
  JSON.stringify({
    card: card.status,
    code: error?.code ?? null,
    touched: named(/^version\/v([\d.]+)\//),
    loaded: named(/^version\/v([\d.]+)\/v\d+$/),
  }),
);
