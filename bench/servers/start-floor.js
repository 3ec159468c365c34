/** Bare Node that answers one message, with grpc-js loaded. */
import { createServer } from "node:http";
import { Server } from "@grpc/grpc-js";
import { announceStart } from "./start-control.js";

new Server();
const http = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const message = { messageId: "m", contextId: "c", role: "ROLE_AGENT", parts: [{ text: "pong" }] };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(body).id, result: { message } }));
});
http.listen(0, "127.0.0.1", () => {
  const address = http.address();
  if (address !== null && typeof address === "object") announceStart(address.port);
});
