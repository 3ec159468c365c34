// Mounts an agent in a Hono app. Here Node serves the app; Bun, Deno and workers do it the same way.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { artifact, createAgent } from "trivium";
import { honoAgent } from "trivium/hono";

const agent = createAgent({
  card: { name: "Shouter", description: "Says it louder", version: "1.0.0" },
  async *agent({ text }) {
    yield artifact(text.toUpperCase());
  },
});

const app = new Hono();
app.all("/agents/shouter/*", honoAgent(agent));
app.get("/menu", (context) => context.text("the shop's own page"));
serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 8080), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`The shop listens at http://127.0.0.1:${port}`);
});
