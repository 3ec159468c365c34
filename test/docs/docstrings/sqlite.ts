// Examples for the docstrings of `trivium/sqlite`.
import { type Agent, type CardOptions, serve } from "trivium";
import { StoreError, sqliteStore } from "trivium/sqlite";

declare const card: CardOptions;
declare const agent: Agent;

{
  // #region sqliteStore
  const store = sqliteStore({ path: "data/tasks.db" });
  const server = await serve({ card, agent, store });
  process.once("SIGTERM", async () => {
    await server.close();
    await store.close();
  });
  // #endregion
}

{
  const store = sqliteStore({ path: "data/tasks.db" });
  // #region StoreError
  try {
    await store.open?.();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    console.error(error.failure, error.message);
  }
  // #endregion
}
