// Examples for the docstrings of `trivium/a2a-js`.
import { type CardOptions, serve } from "trivium";
import { type AgentExecutor, type AgentExecutorV03, fromExecutor } from "trivium/a2a-js";

declare const card: CardOptions;
declare const WeatherExecutor: new () => AgentExecutor;
declare const OldWeatherExecutor: new () => AgentExecutorV03;

{
  // #region fromExecutor
  const server = await serve({ card, agent: fromExecutor(new WeatherExecutor()) });
  console.log(`listening at ${server.url}`);
  // #endregion
}

{
  // #region fromExecutor
  const server = await serve({ card, agent: fromExecutor(new OldWeatherExecutor(), { sdk: "0.3" }) });
  console.log(`listening at ${server.url}`);
  // #endregion
}
