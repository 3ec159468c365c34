import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { honoAgent } from "trivium/hono";
import { createDesk } from "./agent.ts";

const app = new Hono();
app.all("/agents/desk/*", honoAgent(createDesk()));
serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 8080), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`The app listens at http://127.0.0.1:${port}`);
});
