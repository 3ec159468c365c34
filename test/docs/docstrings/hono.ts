// Examples for the docstrings of `trivium/hono`.
import { Hono } from "hono";
import { type Agent, type CardOptions, createAgent } from "trivium";
import { honoAgent } from "trivium/hono";

declare const card: CardOptions;
declare const agent: Agent;

{
  // #region honoAgent
  const app = new Hono();
  app.all("/agents/weather/*", honoAgent(createAgent({ card, agent })));
  // #endregion
}
