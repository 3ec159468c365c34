// Mounts an agent in an existing Koa app, whose other routes stay as they are.
import Koa from "koa";
import mount from "koa-mount";
import { artifact, createAgent } from "trivium";

const agent = await createAgent({
  card: { name: "Shouter", description: "Says it louder", version: "1.0.0" },
  async *agent({ text }) {
    yield artifact(text.toUpperCase());
  },
});

const app = new Koa();
app.use(mount("/agents/shouter", await agent.koa()));
app.use((ctx) => {
  ctx.body = "the shop's own page";
});
const server = app.listen(Number(process.env["PORT"] ?? 8080), "127.0.0.1", () => {
  const address = server.address();
  console.log(`The shop listens at http://127.0.0.1:${typeof address === "object" ? address?.port : address}`);
});
