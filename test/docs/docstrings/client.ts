// Examples for the docstrings of `trivium/client`.
import { Client } from "trivium/client";

declare const output: { append(text: string): void };

{
  // #region Client
  const client = await Client.connect("https://agent.example");
  const stream = client.stream("What is the weather in Oslo?");
  for await (const piece of stream.text) output.append(piece);
  await client.close();
  // #endregion
}
