import { type Agent, Client, serve } from "trivium";
import { fromExecutor } from "trivium/a2a-js";
import * as newer from "./newer.ts";
import * as older from "./older.ts";

const card = { name: "Hosted", description: "An executor of another SDK", version: "1.0.0" };

const agents: readonly (readonly [name: string, hello: Agent, coder: Agent, movies: Agent])[] = [
  ["1.x", fromExecutor(new newer.Hello()), fromExecutor(new newer.Coder()), fromExecutor(new newer.Movies())],
  [
    "0.3",
    fromExecutor(new older.Hello(), { sdk: "0.3" }),
    fromExecutor(new older.Coder(), { sdk: "0.3" }),
    fromExecutor(new older.Movies(), { sdk: "0.3" }),
  ],
];

export const mistaken = (): unknown => [
  // @ts-expect-error: an executor of 0.3 needs the option.
  fromExecutor(new older.Movies()),
  // @ts-expect-error: one of 1.x must not have it.
  fromExecutor(new newer.Movies(), { sdk: "0.3" }),
  // @ts-expect-error: a class is no executor.
  fromExecutor(newer.Movies),
];

for (const [name, hello, coder, movies] of agents) {
  const print = (...line: unknown[]): unknown => process.stdout.write(`${name} ${line.join(" ")}\n`);
  await talk(hello, async (client) => {
    const { state, text } = await client.send("world");
    print(state, text);
  });
  await talk(coder, async (client) => {
    const stream = client.stream("two files, please");
    const chunks: string[] = [];
    for await (const event of stream)
      if (event.type === "artifact") chunks.push(`${event.artifactId}:${event.delta.trim()}`);
    const { state, artifacts } = await stream.answer;
    print(state, chunks.join(" "), JSON.stringify(artifacts.map(({ text }) => text)));
  });
  await talk(movies, async (client) => {
    const question = await client.send("a film");
    const answer = await client.send("1994", { continue: question });
    print(question.state, question.text, "→", answer.state, answer.statusText);
    const searching = await client.send("search forever", { configuration: { returnImmediately: true } });
    await client.cancelTask({ id: searching.taskId });
    const { state, statusText } = await client.wait(searching.taskId);
    print(state, statusText);
    await client.send("refuse").catch(({ code, message }) => print(code, message));
  });
}

async function talk(agent: Agent, calls: (client: Client) => Promise<void>): Promise<void> {
  const server = await serve({ card, agent, port: 0 });
  const client = await Client.connect(server.url);
  await calls(client);
  await client.close();
  await server.close();
}
