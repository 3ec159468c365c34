// Examples for the docstrings of `trivium/postgres`.
import { type Agent, type CardOptions, serve } from "trivium";
import { postgresStore } from "trivium/postgres";

declare const card: CardOptions;
declare const agent: Agent;

{
  // #region postgresStore
  const store = postgresStore({ url: "postgres://agent@db.example/tasks", pool: { max: 10 } });
  const server = await serve({ card, agent, store });
  process.once("SIGTERM", async () => {
    await server.close();
    await store.close();
  });
  // #endregion
}
