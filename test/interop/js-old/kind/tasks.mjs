import assert from "node:assert/strict";
import { collect, isOpen, send, statesOf, streamed, textOf, waiting } from "./peer.mjs";

export const cases = {
  async task({ full }) {
    const task = await (await full()).send(send("work"));
    assert.deepEqual([task.kind, task.status.state, textOf(task.status.message)], ["task", "completed", "done"]);
    assert.ok(Date.parse(task.status.timestamp) > 0);
    assert.deepEqual(
      task.artifacts.map((each) => [each.artifactId, each.name, textOf(each)]),
      [
        ["report", "Report", "one two"],
        ["extra", undefined, ""],
      ],
    );
    const [numbers, bytes] = task.artifacts[1].parts;
    assert.deepEqual(numbers.data, { count: 3, ratio: 0.5, nested: { list: [1, null, "x"] } });
    assert.deepEqual([...Buffer.from(bytes.file.bytes, "base64")], [0, 1, 254, 255]);
  },

  async "return-immediately"({ full }) {
    const client = await full();
    const { id } = await waiting(client);
    assert.ok(isOpen(await client.get({ id })));
    const after = await client.send(send("now", { taskId: id, configuration: { blocking: true } }));
    assert.deepEqual([after.id, after.status.state, textOf(after.artifacts[0])], [id, "completed", "heard now"]);
  },

  async "stream-task"({ drops, full }) {
    const [first, ...events] = await collect((await full()).stream(send("work")));
    assert.equal(first.kind, "task");
    assert.ok(events.every(({ taskId, contextId }) => taskId === first.id && contextId === first.contextId));
    assert.deepEqual(statesOf(events), ["working", "completed"]);
    const artifacts = events.filter(({ kind }) => kind === "artifact-update");
    assert.deepEqual(
      artifacts.map(({ artifact }) => artifact.artifactId),
      ["report", "report", "extra"],
    );
    if (!drops.append) assert.deepEqual(artifacts.map(flags), ["first", "append last", "first"]);
  },

  async "stream-chunks"({ full }) {
    const events = await collect((await full()).stream(send("count")));
    assert.equal(streamed(events), Array.from({ length: 500 }, (_, index) => `${index},`).join(""));
    assert.equal(statesOf(events).at(-1), "completed");
  },

  async "stream-silence"({ full }) {
    const events = await collect((await full()).stream(send("hush")));
    assert.deepEqual([streamed(events), statesOf(events).at(-1)], ["at last", "completed"]);
  },

  async get({ full }) {
    const client = await full();
    const { id, contextId } = await client.send(send("work"));
    const whole = await client.get({ id, historyLength: 10 });
    assert.deepEqual([whole.kind, whole.id, whole.contextId, whole.artifacts.length], ["task", id, contextId, 2]);
    assert.ok(whole.history.length > 1);
    assert.equal(textOf(whole.history[0]), "work");
    const { history } = await client.get({ id, historyLength: 1 });
    assert.deepEqual(history.map(textOf), [textOf(whole.history.at(-1))]);
  },

  async cancel({ full }) {
    const client = await full();
    const { id } = await waiting(client);
    assert.equal((await client.cancel({ id })).status.state, "canceled");
    assert.equal((await client.get({ id })).status.state, "canceled");
  },

  async "cancel-stream"({ full }) {
    const client = await full();
    const events = [];
    for await (const event of client.stream(send("wait"))) {
      events.push(event);
      if (event.status.state === "working") await client.cancel({ id: event.taskId });
    }
    assert.deepEqual(statesOf(events), ["working", "canceled"]);
  },

  async subscribe({ full }) {
    const client = await full();
    const { id } = await waiting(client);
    const events = [];
    for await (const event of client.resubscribe({ id })) {
      events.push(event);
      if (events.length > 1) continue;
      assert.ok(event.kind === "task" && isOpen(event));
      await client.send(send("go on", { taskId: id, configuration: { blocking: false } }));
    }
    assert.deepEqual([streamed(events), statesOf(events).at(-1)], ["heard go on", "completed"]);
    assert.equal(events.filter(({ kind }) => kind === "task").length, 1);
  },

  async "subscribe-finished"({ full }) {
    const client = await full();
    const { id } = await client.send(send("work"));
    const [first, ...rest] = await collect(client.resubscribe({ id }));
    assert.deepEqual([first.kind, first.id, first.status.state], ["task", id, "completed"]);
    assert.ok(rest.every(({ kind, final }) => kind === "status-update" && final));
  },

  async leave({ full }) {
    const client = await full();
    let id = "";
    for await (const event of client.stream(send("wait"))) {
      id = event.taskId ?? event.id;
      if (event.status.state === "working") break;
    }
    assert.equal((await client.get({ id })).status.state, "working");
    assert.equal((await client.send(send("go", { taskId: id }))).status.state, "completed");
  },

  async "input-required"({ full }) {
    const client = await full();
    const question = await client.send(send("ask"));
    assert.deepEqual([question.status.state, textOf(question.status.message)], ["input-required", "which one?"]);
    const { id: taskId, contextId } = question;
    const answer = await client.send(send("the red one", { taskId, contextId }));
    assert.deepEqual([answer.id, answer.contextId, answer.status.state], [taskId, contextId, "completed"]);
    assert.equal(textOf(answer.artifacts[0]), "you said the red one");
    const { history } = await client.get({ id: taskId, historyLength: 10 });
    assert.deepEqual(history.map(textOf), ["ask", "which one?", "the red one"]);
  },

  async "input-required-stream"({ full }) {
    const client = await full();
    const events = await collect(client.stream(send("ask")));
    assert.deepEqual(statesOf(events), ["input-required"]);
    const { taskId } = events.at(-1);
    const rest = await collect(client.stream(send("this one", { taskId })));
    assert.deepEqual([rest[0].kind, rest[0].id], ["task", taskId]);
    assert.equal(statesOf(rest).at(-1), "completed");
  },

  async "auth-required"({ full }) {
    const task = await (await full()).send(send("login"));
    assert.deepEqual([task.status.state, textOf(task.status.message)], ["auth-required", "log in first"]);
  },

  async rejected({ full }) {
    const task = await (await full()).send(send("refuse"));
    assert.deepEqual([task.status.state, textOf(task.status.message)], ["rejected", "not that"]);
  },

  async failed({ full }) {
    const task = await (await full()).send(send("crash"));
    assert.equal(task.status.state, "failed");
    assert.doesNotMatch(JSON.stringify(task), /secret/);
  },
};

function flags({ append, lastChunk }) {
  return `${append === true ? "append" : "first"}${lastChunk === true ? " last" : ""}`;
}
