// A program that calls an agent and closes its client; it has to exit by itself.
import { Client } from "trivium";

const [url, binding, what] = process.argv.slice(2);

/** Says what is left when the program could end. */
function report(said) {
  const left = process.getActiveResourcesInfo().filter((kind) => !/^(?:PipeWrap|TTYWrap)$/.test(kind));
  process.stdout.write(JSON.stringify({ said, left }));
}

async function callAll(client) {
  await client.send("say");
  for await (const _ of client.stream("go"));
  const { taskId } = await client.send("go");
  await client.wait(taskId);
  return client.connection.binding;
}

async function closeWhileOpen(client) {
  const stream = client.stream("wait")[Symbol.asyncIterator]();
  await stream.next();
  await stream.next();
  const next = stream.next().then(
    ({ done }) => `ended ${done}`,
    (error) => `failed ${error.name}`,
  );
  const waiting = client.send("wait").then(
    () => "answered",
    (error) => `failed ${error.name}`,
  );
  await client.close();
  return `${await next}, ${await waiting}`;
}

const client = await Client.connect(url, { prefer: [binding] });
const said = await (what === "calls" ? callAll(client) : closeWhileOpen(client));
await client.close();
process.on("beforeExit", () => report(said));
