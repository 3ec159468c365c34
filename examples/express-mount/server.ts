// Mounts an agent in an existing Express app, whose other routes stay as they are.
import express from "express";
import { artifact, createAgent } from "trivium";
import { expressAgent } from "trivium/express";

const agent = createAgent({
  card: { name: "Shouter", description: "Says it louder", version: "1.0.0" },
  async *agent({ text }) {
    yield artifact(text.toUpperCase());
  },
});

const app = express();
app.use("/agents/shouter", expressAgent(agent));
app.get("/menu", (_req, res) => {
  res.send("the shop's own page");
});
const server = app.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  console.log(`The shop listens at http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
});
