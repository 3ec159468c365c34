/** `serve()` of one agent. */
import { pathToFileURL } from "node:url";
import { announceStart } from "./start-control.js";

const elsewhere = process.env["TRIVIUM_DIST"];
const dist = elsewhere ? pathToFileURL(`${elsewhere}/`) : new URL("../../dist/", import.meta.url);
/** @type {typeof import("../../src/index.js")} */
const { reply, serve } = await import(new URL("src/index.js", dist).href);

const server = await serve({
  card: { name: "Start", description: "Answers one message", version: "1.0.0" },
  port: 0,
  async *agent() {
    yield reply("pong");
  },
});
announceStart(Number(new URL(server.url).port));
