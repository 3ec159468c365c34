// Examples for the docstrings of `trivium/express`.
import express from "express";
import { type Agent, type CardOptions, createAgent } from "trivium";
import { expressAgent } from "trivium/express";

declare const card: CardOptions;
declare const agent: Agent;

{
  // #region expressAgent
  const app = express();
  app.use("/agents/weather", expressAgent(createAgent({ card, agent })));
  app.listen(8080);
  // #endregion
}
