import { setTimeout as sleep } from "node:timers/promises";

/**
 * Does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it repeats what it was given. The SDK hands
 * the requests over and keeps no task by itself, so this does.
 */
export class Script {
  #store;
  /** What wakes a task that is at work, by its id. */
  #stops = new Map();

  constructor(store) {
    this.#store = store;
  }

  async onMessageSend({ id, params }, task) {
    let last;
    for await (const _ of this.#play(params, task, (made) => (last = made)));
    return { jsonrpc: "2.0", id, result: last };
  }

  async *onMessageStream({ id, params }, task) {
    for await (const result of this.#play(params, task)) yield { jsonrpc: "2.0", id, result };
  }

  async onCancel({ id }, task) {
    const stop = this.#stops.get(task.id);
    if (stop === undefined && ended.has(task.status.state)) {
      return { jsonrpc: "2.0", id, error: { code: -32002, message: "the task has ended" } };
    }
    task.status = status("canceled", "stopped");
    stop?.();
    return { jsonrpc: "2.0", id, result: task };
  }

  async *onResubscribe({ id }, task) {
    yield { jsonrpc: "2.0", id, result: statusEvent(task) };
    if (!this.#stops.has(task.id)) return;
    await this.#stopped(task.id);
    yield { jsonrpc: "2.0", id, result: statusEvent(task) };
  }

  async *#play({ id, sessionId = null, message }, known, keep = () => {}) {
    const task = known ?? { id, sessionId, status: status("submitted"), artifacts: [], history: [message] };
    await this.#store.save(task);
    keep(task);
    const said = textOf(message);
    const [word, ...numbers] = said.split(" ");
    const turn = new Turn(task, message);
    if (known !== undefined) yield* turn.answer(said);
    else if (word === "slow") yield* this.#slow(turn);
    else
      yield* Object.hasOwn(scripts, word)
        ? scripts[word](turn, ...numbers.map(Number))
        : turn.end("completed", message.parts);
  }

  async *#slow(turn) {
    const stopped = this.#stopped(turn.task.id);
    yield turn.status("working", "on it");
    await stopped;
    yield statusEvent(turn.task);
  }

  #stopped(id) {
    const before = this.#stops.get(id);
    return new Promise((resolve) => {
      this.#stops.set(id, () => {
        before?.();
        this.#stops.delete(id);
        resolve();
      });
    });
  }
}

const ended = new Set(["completed", "canceled", "failed"]);

const scripts = {
  *message(turn) {
    yield turn.status("completed", "hello");
  },
  *task(turn) {
    yield turn.status("working", "on it");
    yield turn.artifact([text("the result")]);
    yield turn.status("completed", "done");
  },
  async *stream(turn, count, paceMs) {
    yield turn.status("working", "on it");
    for (let index = 0; index < count; index++) {
      yield turn.artifact([text(`${index},`)], { append: index > 0, lastChunk: index === count - 1 });
      if (paceMs !== undefined) await sleep(paceMs);
    }
    yield turn.status("completed", "done");
  },
  *file(turn) {
    yield turn.artifact(turn.message.parts.slice(1));
    yield turn.status("completed", "done");
  },
  *ask(turn) {
    yield turn.status("input-required", "which one?");
  },
  *fail(turn) {
    yield turn.status("failed", "it broke");
  },
};

class Turn {
  constructor(task, message) {
    this.task = task;
    this.message = message;
  }

  *answer(said) {
    yield this.artifact([text(`you said ${said}`)]);
    yield this.status("completed", "done");
  }

  *end(state, parts) {
    this.task.status = { ...status(state), message: { role: "agent", parts } };
    yield statusEvent(this.task);
  }

  status(state, words) {
    this.task.status = status(state, words);
    return statusEvent(this.task);
  }

  artifact(parts, { append = false, lastChunk = true } = {}) {
    const artifact = { name: "Result", index: 0, parts, append, lastChunk };
    const [made] = this.task.artifacts;
    if (append && made !== undefined) made.parts.push(...parts);
    else this.task.artifacts = [{ name: "Result", index: 0, parts: [...parts] }];
    return { id: this.task.id, artifact };
  }
}

function statusEvent({ id, status: now }) {
  return { id, status: now, final: now.state !== "submitted" && now.state !== "working" };
}

function status(state, words) {
  const timestamp = new Date().toISOString();
  return words === undefined
    ? { state, timestamp }
    : { state, timestamp, message: { role: "agent", parts: [text(words)] } };
}

function textOf({ parts }) {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function text(value) {
  return { type: "text", text: value };
}
