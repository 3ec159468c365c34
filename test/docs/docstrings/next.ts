// Examples for the docstrings of `trivium/next`.
import { type Agent, type CardOptions, createAgent } from "trivium";
import { nextRoute } from "trivium/next";

declare const card: CardOptions;
declare const agent: Agent;

// #region nextRoute
// app/agents/weather/[[...path]]/route.ts
export const { GET, POST, DELETE, HEAD, OPTIONS } = nextRoute(() => createAgent({ card, agent }));
// #endregion
