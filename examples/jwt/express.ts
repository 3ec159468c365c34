import express from "express";
import { expressAgent } from "trivium/express";
import { createDesk } from "./agent.ts";

const app = express();
app.use("/agents/desk", expressAgent(createDesk()));
const server = app.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  console.log(`The app listens at http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
});
