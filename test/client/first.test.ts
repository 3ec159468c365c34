import { artifact, completed, inputRequired, reply, serve, working } from "trivium";
import { expect, it } from "vitest";
import { collect } from "../../src/client/collect.js";
import { Client } from "../../src/client/node.js";

it.each(["JSONRPC", "HTTP+JSON", "GRPC", "urn:trivium:binding:connect:v1"])("calls an agent over %s", async (binding) => {
  await using server = await serve({
    card: { name: "A", description: "a", version: "1" },
    port: 0,
    drainMs: 0,
    bindings: ["json-rpc", "grpc", "http-json", "connect"],
    async *agent({ text }) {
      if (text === "hello") {
        yield reply("hi");
        return;
      }
      yield working();
      yield artifact("one ", { artifactId: "a" });
      yield artifact("two", { artifactId: "a", append: true });
      if (text === "ask") yield inputRequired("what?");
      else yield completed();
    },
  });
  await using client = await Client.connect(server.url, { prefer: [binding] });
  const answer = await client.send("hello");
  expect(answer.$typeName).toBe("lf.a2a.v1.Message");
  expect(client.connection?.binding).toBe(binding);
  const events: (string | undefined)[] = [];
  let id: string | undefined = "";
  for await (const item of client.stream("go")) {
    events.push(item.response.payload.case);
    id = item.id;
  }
  expect(events.length).toBeGreaterThan(3);
  console.log(binding, events, id);
  const task = await collect(client.stream("ask"));
  console.log(JSON.stringify(task, (_, v) => (typeof v === "bigint" ? String(v) : v)).slice(0, 600));
  if (task.$typeName !== "lf.a2a.v1.Task") throw new Error("no task");
  const done = await client.continue(task, "that");
  expect(done.$typeName).toBe("lf.a2a.v1.Task");
  const waited = await client.wait(task.id);
  expect(waited.status?.state).toBe(3);
  await expect(client.getTask({ id: "nope" })).rejects.toMatchObject({ code: "taskNotFound" });
});
