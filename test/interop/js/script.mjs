import { setTimeout as sleep } from "node:timers/promises";
import { Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { AgentEvent } from "@a2a-js/sdk/server";

/** Does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it repeats the text. */
export class Script {
  /** Turns whose task has not ended, by its id. */
  #open = new Map();

  async execute(context, bus) {
    const turn = new Turn(context, bus);
    const { task, taskId } = context;
    const [word, ...numbers] = turn.text.split(" ");
    if (task !== undefined) {
      this.#open.delete(taskId);
      resume(turn, task);
    } else if (Object.hasOwn(scripts, word)) {
      this.#open.set(taskId, turn);
      await scripts[word](turn, ...numbers.map(Number));
      if (turn.ended) this.#open.delete(taskId);
    } else {
      turn.reply(turn.text);
    }
  }

  async cancelTask(taskId, bus) {
    const turn = this.#open.get(taskId);
    this.#open.delete(taskId);
    turn.bus = bus;
    turn.status("CANCELED", "stopped");
    turn.stop();
  }
}

const scripts = {
  message: (turn) => turn.reply("hello"),
  task(turn) {
    turn.begin().status("WORKING", "on it");
    turn.artifact("the result");
    turn.status("COMPLETED", "done");
  },
  async stream(turn, count, paceMs) {
    turn.begin().status("WORKING", "on it");
    for (let index = 0; index < count; index++) {
      turn.artifact(`${index},`, { append: index > 0, lastChunk: index === count - 1 });
      if (paceMs !== undefined) await sleep(paceMs);
    }
    turn.status("COMPLETED", "done");
  },
  ask: (turn) => turn.begin().status("INPUT_REQUIRED", "which one?"),
  auth: (turn) => turn.begin().status("AUTH_REQUIRED", "log in first"),
  fail: (turn) => turn.begin().status("FAILED", "it broke"),
  reject: (turn) => turn.begin().status("REJECTED", "not that"),
  slow(turn) {
    turn.begin().status("WORKING", "on it");
    return turn.stopped;
  },
};

function resume(turn, task) {
  turn.publish("task", task);
  turn.artifact(`you said ${turn.text}`);
  turn.status("COMPLETED", "done");
}

const endings = new Set(["COMPLETED", "FAILED", "REJECTED"]);

/** What one execution says, in the words of the SDK. */
class Turn {
  ended = false;
  stopped = new Promise((resolve) => {
    this.stop = resolve;
  });

  constructor({ taskId, contextId, userMessage }, bus) {
    this.ids = { taskId, contextId };
    this.userMessage = userMessage;
    this.text = userMessage.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
    this.bus = bus;
  }

  publish(kind, data) {
    this.bus.publish(AgentEvent[kind](data));
    return this;
  }

  begin() {
    const { taskId: id, contextId } = this.ids;
    const history = [Message.toJSON(this.userMessage)];
    return this.publish("task", Task.fromJSON({ id, contextId, status: this.#status("SUBMITTED"), history }));
  }

  status(state, text) {
    this.ended ||= endings.has(state);
    const update = { ...this.ids, status: this.#status(state, text) };
    return this.publish("statusUpdate", TaskStatusUpdateEvent.fromJSON(update));
  }

  artifact(text, options) {
    const update = { ...this.ids, artifact: { artifactId: "result", name: "Result", parts: [{ text }] }, ...options };
    return this.publish("artifactUpdate", TaskArtifactUpdateEvent.fromJSON(update));
  }

  reply(text) {
    this.ended = true;
    return this.publish("message", Message.fromJSON({ ...this.#message(text), contextId: this.ids.contextId }));
  }

  #status(state, text) {
    const message = text === undefined ? undefined : { ...this.#message(text), ...this.ids };
    return { state: `TASK_STATE_${state}`, message, timestamp: new Date().toISOString() };
  }

  #message(text) {
    return { messageId: crypto.randomUUID(), role: "ROLE_AGENT", parts: [{ text }] };
  }
}
