import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { TaskState } from "@a2a-js/sdk";
import { as, collect, isOpen, send, state, textOf, waiting } from "./peer.mjs";

/** What the message of a status says to programs about the authorization that it asks for. */
function authorizationIn({ message }) {
  const { url, ...request } = message.metadata["urn:trivium:extension:authorization:v1"];
  assert.match(url, /^http:\/\/127\.0\.0\.1:/);
  assert.ok(textOf(message).includes(url), textOf(message));
  assert.deepEqual(request, { userCode: "WDJB", scopes: ["calendar"] });
  return { url };
}

export const cases = {
  async task({ full }) {
    const task = await (await full()).sendMessage(send("work"));
    assert.equal(state(task), "COMPLETED");
    assert.equal(textOf(task.status.message), "done");
    assert.ok(!Number.isNaN(Date.parse(task.status.timestamp)));
    const [report, extra] = task.artifacts;
    assert.deepEqual([report.artifactId, report.name, textOf(report)], ["report", "Report", "one two"]);
    const [numbers, bytes] = extra.parts;
    assert.deepEqual(numbers.content.value, { count: 3, ratio: 0.5, nested: { list: [1, null, "x"] } });
    assert.deepEqual([...bytes.content.value], [0, 1, 254, 255]);
    assert.deepEqual([bytes.filename, bytes.mediaType], ["raw.bin", "application/octet-stream"]);
  },

  async "return-immediately"({ full }) {
    const client = await full();
    const task = await waiting(client);
    const ended = await client.sendMessage(send("go", { taskId: task.id }));
    assert.equal(state(ended), "COMPLETED");
    assert.equal(textOf(ended.artifacts[0]), "heard go");
    assert.equal(state(await client.getTask({ tenant: "", id: task.id })), "COMPLETED");
  },

  async "stream-task"({ full }) {
    const events = await collect((await full()).sendMessageStream(send("work")));
    assert.equal(events[0].$case, "task");
    const id = events[0].value.id;
    const updates = events.slice(1);
    assert.ok(updates.every(({ value }) => value.taskId === id));
    const chunks = updates.filter(({ $case }) => $case === "artifactUpdate").map(({ value }) => value);
    assert.deepEqual(
      chunks.map(({ artifact, append, lastChunk }) => [artifact.artifactId, append, lastChunk]),
      [
        ["report", false, false],
        ["report", true, true],
        ["extra", false, false],
      ],
    );
    assert.equal(chunks[0].artifact.name, "Report");
    const states = updates.filter(({ $case }) => $case === "statusUpdate").map(({ value }) => state(value));
    assert.deepEqual(states, ["WORKING", "COMPLETED"]);
    assert.equal(events.at(-1).$case, "statusUpdate");
  },

  async "stream-chunks"({ full }) {
    const events = await collect((await full()).sendMessageStream(send("count")));
    const text = events
      .filter(({ $case }) => $case === "artifactUpdate")
      .map(({ value }) => textOf(value.artifact))
      .join("");
    assert.equal(text, Array.from({ length: 500 }, (_, index) => `${index},`).join(""));
  },

  async "stream-silence"({ full }) {
    const events = await collect((await full()).sendMessageStream(send("hush")));
    assert.equal(state(events.at(-1).value), "COMPLETED");
  },

  async get({ full }) {
    const client = await full();
    const { id } = await client.sendMessage(send("work"));
    const all = await client.getTask({ tenant: "", id });
    assert.deepEqual(all.history.map(textOf), ["work", "on it"]);
    assert.equal(all.artifacts.length, 2);
    const last = await client.getTask({ tenant: "", id, historyLength: 1 });
    assert.deepEqual(last.history.map(textOf), ["on it"]);
    const none = await client.getTask({ tenant: "", id, historyLength: 0 });
    assert.deepEqual(none.history, []);
  },

  async list({ full }) {
    const client = await full();
    const contextId = randomUUID();
    const made = [];
    for (const word of ["work", "refuse", "work"])
      made.unshift((await client.sendMessage(send(word, { contextId }))).id);
    const base = { tenant: "", contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: "" };
    const first = await client.listTasks({ ...base, pageSize: 2 });
    assert.deepEqual([first.tasks.length, first.totalSize, first.pageSize], [2, 3, 2]);
    const rest = await client.listTasks({ ...base, pageSize: 2, pageToken: first.nextPageToken });
    assert.equal(rest.nextPageToken, "");
    assert.deepEqual(
      [...first.tasks, ...rest.tasks].map(({ id }) => id),
      made,
    );
    assert.ok(first.tasks.every(({ artifacts }) => artifacts.length === 0));
    const refused = await client.listTasks({ ...base, status: TaskState.TASK_STATE_REJECTED });
    assert.deepEqual(
      refused.tasks.map(({ id }) => id),
      [made[1]],
    );
    const whole = await client.listTasks({ ...base, includeArtifacts: true, historyLength: 5 });
    assert.deepEqual(
      whole.tasks.map(({ artifacts }) => artifacts.length),
      [2, 0, 2],
    );
    const later = await client.listTasks({ ...base, statusTimestampAfter: "2999-01-01T00:00:00Z" });
    assert.deepEqual(later.tasks, []);
  },

  async "list-owner"({ full }) {
    const client = await full();
    const contextId = randomUUID();
    await client.sendMessage(send("work", { contextId }), as("anna"));
    const query = { tenant: "", contextId, status: TaskState.TASK_STATE_UNSPECIFIED, pageToken: "" };
    assert.equal((await client.listTasks(query, as("anna"))).tasks.length, 1);
    assert.equal((await client.listTasks(query, as("bert"))).tasks.length, 0);
  },

  async cancel({ full }) {
    const client = await full();
    const { id } = await waiting(client);
    assert.equal(state(await client.cancelTask({ tenant: "", id })), "CANCELED");
    assert.equal(state(await client.getTask({ tenant: "", id })), "CANCELED");
  },

  async "cancel-stream"({ full }) {
    const client = await full();
    const states = [];
    for await (const { payload } of client.sendMessageStream(send("wait"))) {
      states.push(state(payload.value));
      if (state(payload.value) === "WORKING") await client.cancelTask({ tenant: "", id: payload.value.taskId });
    }
    assert.deepEqual(states, ["SUBMITTED", "WORKING", "CANCELED"]);
  },

  async subscribe({ full }) {
    const client = await full();
    const { id } = await waiting(client);
    const kinds = [];
    let text = "";
    let ended;
    for await (const { payload } of client.resubscribeTask({ tenant: "", id })) {
      kinds.push(payload.$case);
      if (kinds.length === 1) {
        assert.ok(isOpen(payload.value));
        await client.sendMessage(send("go on", { taskId: id, configuration: { returnImmediately: true } }));
      }
      if (payload.$case === "artifactUpdate") text += textOf(payload.value.artifact);
      if (payload.$case === "statusUpdate") ended = state(payload.value);
    }
    assert.equal(kinds[0], "task");
    assert.ok(!kinds.slice(1).includes("task"));
    assert.deepEqual([text, ended], ["heard go on", "COMPLETED"]);
  },

  async leave({ full }) {
    const client = await full();
    let taskId = "";
    for await (const { payload } of client.sendMessageStream(send("wait"))) {
      taskId = payload.value.taskId ?? payload.value.id;
      if (state(payload.value) === "WORKING") break;
    }
    assert.equal(state(await client.getTask({ tenant: "", id: taskId })), "WORKING");
    assert.equal(state(await client.sendMessage(send("go", { taskId }))), "COMPLETED");
  },

  async "input-required"({ full }) {
    const client = await full();
    const question = await client.sendMessage(send("ask"));
    assert.deepEqual([state(question), textOf(question.status.message)], ["INPUT_REQUIRED", "which one?"]);
    const { id, contextId } = question;
    const answer = await client.sendMessage(send("the red one", { taskId: id, contextId }));
    assert.deepEqual([answer.id, answer.contextId, state(answer)], [id, contextId, "COMPLETED"]);
    assert.equal(textOf(answer.artifacts[0]), "you said the red one");
    assert.deepEqual(answer.history.map(textOf), ["ask", "which one?", "the red one"]);
  },

  async "input-required-stream"({ full }) {
    const client = await full();
    const events = await collect(client.sendMessageStream(send("ask")));
    assert.equal(state(events.at(-1).value), "INPUT_REQUIRED");
    const { taskId } = events.at(-1).value;
    const rest = await collect(client.sendMessageStream(send("this one", { taskId })));
    assert.equal(rest[0].$case, "task");
    assert.equal(state(rest.at(-1).value), "COMPLETED");
  },

  async "auth-required"({ full }) {
    const task = await (await full()).sendMessage(send("login"));
    assert.deepEqual([state(task), textOf(task.status.message)], ["AUTH_REQUIRED", "log in first"]);
  },

  async "authorize-message"({ full }) {
    const client = await full();
    const task = await client.sendMessage(send("authorize"));
    assert.equal(state(task), "AUTH_REQUIRED");
    authorizationIn(task.status);
    const ended = await client.sendMessage(send("done", { taskId: task.id }));
    assert.deepEqual([state(ended), textOf(ended.artifacts[0])], ["COMPLETED", "authorized by a message"]);
  },

  async "authorize-page"({ full }) {
    const states = [];
    let result;
    for await (const { payload } of (await full()).sendMessageStream(send("authorize"))) {
      if (payload.$case === "artifactUpdate") result = textOf(payload.value.artifact);
      if (payload.$case !== "statusUpdate") continue;
      states.push(state(payload.value));
      if (states.at(-1) === "AUTH_REQUIRED") await (await fetch(authorizationIn(payload.value.status).url)).text();
    }
    assert.deepEqual([states, result], [["AUTH_REQUIRED", "WORKING", "COMPLETED"], "authorized on the page"]);
  },

  async rejected({ full }) {
    const task = await (await full()).sendMessage(send("refuse"));
    assert.deepEqual([state(task), textOf(task.status.message)], ["REJECTED", "not that"]);
  },

  async failed({ full }) {
    const task = await (await full()).sendMessage(send("crash"));
    assert.equal(state(task), "FAILED");
    assert.doesNotMatch(JSON.stringify(task), /secret/);
  },
};
