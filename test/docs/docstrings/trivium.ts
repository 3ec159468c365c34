// Examples for the docstrings of `trivium`: the region `serve` is the `@example` of `serve`. Its overloads take the regions
// of that name in order. `npm run reference` copies them; a region holds what a user writes, without imports.
import { createServer } from "node:http";
import {
  A2AError,
  type Agent,
  type AnswerStream,
  answerOf,
  artifact,
  authRequired,
  CardError,
  type CardOptions,
  Client,
  ConnectionError,
  canceled,
  chatMessages,
  completed,
  createAgent,
  createCardCache,
  data,
  dataOf,
  eventOf,
  failed,
  file,
  fileFrom,
  fileOf,
  filesOf,
  fromJson,
  gateway,
  inputRequired,
  isMessage,
  isTask,
  type JsonObject,
  type JsonValue,
  type Message,
  memoryPushStore,
  memoryTaskStore,
  merge,
  NoInterfaceError,
  type Part,
  park,
  rejected,
  reply,
  serve,
  stateName,
  streamArtifact,
  type Task,
  TurnAborted,
  text,
  textOf,
  toJson,
  working,
} from "trivium";
import { z } from "zod";

declare const card: CardOptions;
declare const agent: Agent;
declare const weather: Agent;
declare const travel: Agent;
declare const client: Client;
declare const message: Message;
declare const task: Task;
declare const body: string;
declare const upload: File;
declare const model: {
  stream(messages: readonly unknown[], options: { signal: AbortSignal }): AsyncIterable<string>;
  complete(text: string, options: { signal: AbortSignal }): Promise<string>;
};
declare function search(text: string): AsyncGenerator<ReturnType<typeof artifact>, void>;
declare function forecast(place: string, signal: AbortSignal): Promise<JsonObject>;
declare function startJob(options: { callback: string }): Promise<void>;
declare function save(name: string | undefined, bytes: Uint8Array): Promise<void>;
declare function show(...values: unknown[]): void;

{
  // #region serve
  const server = await serve({
    agents: {
      "/weather": { card: { name: "Weather", description: "Forecasts the weather", version: "1.0.0" }, agent: weather },
      "/travel": { card: { name: "Travel", description: "Plans trips", version: "1.0.0" }, agent: travel },
    },
    catalogue: true,
  });
  console.log(`${server.url}/weather`);
  // #endregion
}

{
  // #region serve
  const server = await serve({
    card: { name: "Shouter", description: "Says it louder", version: "1.0.0" },
    async *agent({ text }) {
      yield working("shouting");
      yield artifact(text.toUpperCase());
    },
    port: 8080,
  });
  console.log(`Shouter listens at ${server.url}`);
  // #endregion
}

{
  // #region createAgent
  const mounted = await createAgent({ card, agent, basePath: "/agents/weather" });
  const server = createServer(mounted.nodeListener());
  server.listen(8080);
  server.on("close", () => mounted.close());
  // #endregion
}

{
  // #region gateway
  const server = await gateway({
    upstream: "https://agent.example",
    forward: ["authorization"],
    anonymous: "shared",
  });
  console.log(`${server.card.name} is served at ${server.url}`);
  // #endregion
}

{
  // #region Client
  await using client = await Client.connect("https://agent.example");
  const answer = await client.send("What is the weather in Oslo?");
  console.log(answer.text);
  // #endregion
}

{
  // #region Answer
  const answer = await client.send("Book a berth");
  if (answer.state === "input-required") {
    console.log(answer.text); // the agent's question
    const next = await client.send("MV Alba", { continue: answer });
    console.log(next.ok, next.data());
  }
  // #endregion
}

{
  // #region AnswerStream
  const stream = client.stream("Write a report about tides");
  for await (const piece of stream.text) process.stdout.write(piece);
  const { state, files } = await stream.answer;
  console.log(state, files.length);
  // #endregion
  stream satisfies AnswerStream;
}

{
  // #region answerOf
  const answer = answerOf(await client.getTask({ id: "0197-berth" }));
  console.log(answer.state, answer.text);
  // #endregion
}

{
  // #region eventOf
  const event = eventOf(fromJson("StreamResponse", JSON.parse(body)));
  if (event?.type === "status") console.log(event.taskId, event.state);
  // #endregion
}

{
  // #region createCardCache
  const cardCache = createCardCache(1000);
  const client = await Client.connect("https://agent.example", { cardCache });
  // #endregion
  show(client);
}

{
  // #region fileFrom
  const report = await fileFrom("reports/tides.pdf", { maxBytes: 10 << 20 });
  const answer = await client.send(["Summarize this report", report]);
  // #endregion
  show(answer);
}

{
  // #region chatMessages
  const agent: Agent = async function* (turn) {
    const messages = await chatMessages(turn, { last: 20 });
    yield* streamArtifact(model.stream(messages, { signal: turn.signal }));
  };
  // #endregion
  show(agent);
}

{
  // #region merge
  const agent: Agent = ({ text }) => merge(search(`news ${text}`), search(`papers ${text}`));
  // #endregion
  show(agent);
}

{
  // #region streamArtifact
  const agent: Agent = async function* ({ text, signal }) {
    const tokens = model.stream([{ role: "user", content: text }], { signal });
    yield* streamArtifact(tokens, { name: "answer" });
  };
  // #endregion
  show(agent);
}

{
  // #region artifact
  const agent: Agent = async function* ({ text, signal }) {
    const result = await forecast(text, signal);
    yield artifact([`Forecast for ${text}`, data(result)], { name: "forecast" });
  };
  // #endregion
  show(agent);
}

{
  // #region working
  const agent: Agent = async function* ({ text, signal }) {
    yield working("reading the forecast");
    yield artifact(data(await forecast(text, signal)));
  };
  // #endregion
  show(agent);
}

{
  // #region completed
  const agent: Agent = async ({ text, emit, signal }) => {
    await emit(artifact(await model.complete(text, { signal })));
    return completed();
  };
  // #endregion
  show(agent);
}

{
  // #region failed
  const agent: Agent = async ({ text }) => {
    if (text.length > 10_000) return failed("the text is longer than 10,000 characters");
    return reply("accepted");
  };
  // #endregion
  show(agent);
}

{
  // #region rejected
  const agent: Agent = async ({ principal }) =>
    principal.owner === "guest" ? rejected("guests cannot book") : reply("booked");
  // #endregion
  show(agent);
}

{
  // #region canceled
  const agent: Agent = async function* ({ text, signal }) {
    try {
      yield artifact(await model.complete(text, { signal }));
    } catch (error) {
      if (!signal.aborted) throw error;
      yield canceled("stopped before the answer was complete");
    }
  };
  // #endregion
  show(agent);
}

{
  // #region inputRequired
  const agent: Agent = async function* ({ ask }) {
    const ship = textOf(await ask(inputRequired("Which ship?")));
    yield artifact(`Berth N4 is reserved for ${ship}`);
  };
  // #endregion
  show(agent);
}

{
  // #region authRequired
  const agent: Agent = async function* ({ ask }) {
    await ask(authRequired({ url: "https://calendar.example/consent", scopes: ["read"] }));
    yield working("reading the calendar");
  };
  // #endregion
  show(agent);
}

{
  // #region reply
  const agent: Agent = async ({ text }) => reply(`You said: ${text}`);
  // #endregion
  show(agent);
}

{
  // #region park
  const agent: Agent = async function* ({ cause, wake, taskId }) {
    if (cause === "wake") {
      yield wake === undefined ? failed("the job took longer than an hour") : artifact(data(wake));
      return;
    }
    await startJob({ callback: taskId });
    yield park({ wakeAt: Date.now() + 3_600_000 });
  };
  // #endregion
  show(agent);
}

{
  // #region text
  const part = text("# Tides", { mediaType: "text/markdown", filename: "tides.md" });
  // #endregion
  show(part);
}

{
  // #region data
  const answer = await client.send(["Book this berth", data({ berth: "N4", nights: 2 })]);
  // #endregion
  show(answer);
}

{
  // #region file
  const answer = await client.send([
    "Compare these images",
    file(new Uint8Array([0x89, 0x50, 0x4e, 0x47]), { mediaType: "image/png", filename: "harbor.png" }),
    file("https://images.example/harbor.png", { mediaType: "image/png" }),
  ]);
  // #endregion
  show(answer);
}

{
  // #region fileOf
  const part: Part = await fileOf(upload);
  const answer = await client.send(["Summarize this file", part]);
  // #endregion
  show(answer);
}

{
  // #region textOf
  for (const each of task.artifacts) console.log(each.name, textOf(each));
  // #endregion
}

{
  // #region dataOf
  const booking: JsonValue | undefined = dataOf(message);
  // #endregion
  show(booking);
}

{
  // #region dataOf
  const Booking = z.object({ berth: z.string(), nights: z.number().int() });
  const { berth, nights } = dataOf(message, Booking);
  // #endregion
  show(berth, nights);
}

{
  // #region filesOf
  for (const { name, url, bytes } of filesOf(message)) {
    if (url === undefined) await save(name, bytes());
  }
  // #endregion
}

{
  // #region fromJson
  const task = fromJson("Task", JSON.parse(body));
  console.log(task.id, stateName(task.status?.state));
  // #endregion
}

{
  // #region toJson
  const json = JSON.stringify(toJson(task));
  // #endregion
  show(json);
}

{
  // #region isTask
  const { payload } = await client.sendMessage({ message });
  if (isTask(payload.value)) console.log(payload.value.id);
  // #endregion
}

{
  // #region isMessage
  const { payload } = await client.sendMessage({ message });
  if (isMessage(payload.value)) console.log(textOf(payload.value));
  // #endregion
}

{
  // #region stateName
  console.log(stateName(task.status?.state)); // "completed"
  // #endregion
}

{
  // #region A2AError
  const agent: Agent = async ({ text }) => {
    if (text === "") throw new A2AError("invalidParams", "send the name of a city");
    return reply(`It rains in ${text}.`);
  };
  // #endregion
  show(agent);
}

{
  // #region A2AError
  try {
    await client.send("What is the weather in Oslo?");
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    console.error(error.code, error.message, error.retryAfterMs);
  }
  // #endregion
}

{
  // #region ConnectionError
  try {
    await client.send("Pay the invoice");
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    console.error(error.written ? "the agent may have paid" : "nothing was sent");
  }
  // #endregion
}

{
  // #region NoInterfaceError
  try {
    await client.send("hello");
  } catch (error) {
    if (!(error instanceof NoInterfaceError)) throw error;
    for (const { binding, url, reason } of error.skipped) console.error(binding, url, reason);
  }
  // #endregion
}

{
  // #region CardError
  try {
    await serve({ card, agent });
  } catch (error) {
    if (!(error instanceof CardError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
  // #endregion
}

{
  // #region TurnAborted
  const agent: Agent = async function* ({ text, signal, logger }) {
    try {
      yield artifact(await model.complete(text, { signal }));
    } catch (error) {
      if (error instanceof TurnAborted) logger.info({ kind: error.kind }, "stopped early");
      throw error;
    }
  };
  // #endregion
  show(agent);
}

{
  // #region memoryTaskStore
  const store = memoryTaskStore({ maxBytes: 128 << 20, finishedLogMs: 300_000 });
  const server = await serve({ card, agent, store });
  // #endregion
  show(server);
}

{
  // #region memoryPushStore
  const push = { allow: "public", store: memoryPushStore({ maxBytes: 16 << 20 }) } as const;
  const server = await serve({ card, agent, push });
  // #endregion
  show(server);
}
