import { setTimeout as sleep } from "node:timers/promises";

/** Does what the first text says: `stream 3` gives three chunks, `stream 3 10` one in 10 ms. Without a script it repeats what it was given. */
export class Script {
  /** Turns whose task has not ended, by its id. */
  #open = new Map();

  async execute(context, bus) {
    const turn = new Turn(context, bus);
    const [word, ...numbers] = turn.text.split(" ");
    if (context.task !== undefined) {
      turn.artifact([text(`you said ${turn.text}`)]);
      turn.status("completed", "done");
    } else if (Object.hasOwn(scripts, word)) {
      this.#open.set(context.taskId, turn);
      await scripts[word](turn, ...numbers.map(Number));
    } else {
      turn.reply(context.userMessage.parts);
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    const turn = this.#open.get(taskId);
    turn.bus = bus;
    turn.status("canceled", "stopped");
    turn.stop();
  }
}

const scripts = {
  message: (turn) => turn.reply([text("hello")]),
  task(turn) {
    turn.begin().status("working", "on it");
    turn.artifact([text("the result")]);
    turn.status("completed", "done");
  },
  async stream(turn, count, paceMs) {
    turn.begin().status("working", "on it");
    for (let index = 0; index < count; index++) {
      turn.artifact([text(`${index},`)], { append: index > 0, lastChunk: index === count - 1 });
      if (paceMs !== undefined) await sleep(paceMs);
    }
    turn.status("completed", "done");
  },
  file(turn) {
    turn.begin().artifact(turn.userMessage.parts.slice(1));
    turn.status("completed", "done");
  },
  // The wait for an answer ends the stream, so it is said to be final.
  ask: (turn) => turn.begin().status("input-required", "which one?", true),
  auth: (turn) => turn.begin().status("auth-required", "log in first", true),
  fail: (turn) => turn.begin().status("failed", "it broke"),
  reject: (turn) => turn.begin().status("rejected", "not that"),
  slow(turn) {
    turn.begin().status("working", "on it");
    return turn.stopped;
  },
};

const endings = new Set(["completed", "failed", "rejected", "canceled"]);

/** What one execution says, in the words of the protocol. */
class Turn {
  stopped = new Promise((resolve) => {
    this.stop = resolve;
  });

  constructor({ taskId, contextId, userMessage }, bus) {
    this.ids = { taskId, contextId };
    this.userMessage = userMessage;
    this.text = userMessage.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
    this.bus = bus;
  }

  begin() {
    const { taskId: id, contextId } = this.ids;
    const history = [this.userMessage];
    this.bus.publish({ kind: "task", id, contextId, status: this.#status("submitted"), history, artifacts: [] });
    return this;
  }

  status(state, words, final = endings.has(state)) {
    this.bus.publish({ kind: "status-update", ...this.ids, status: this.#status(state, words), final });
    return this;
  }

  artifact(parts, options) {
    const artifact = { artifactId: "result", name: "Result", parts };
    this.bus.publish({ kind: "artifact-update", ...this.ids, artifact, ...options });
    return this;
  }

  reply(parts) {
    this.bus.publish({ ...message(parts), contextId: this.ids.contextId });
  }

  #status(state, words) {
    const status = { state, timestamp: new Date().toISOString() };
    return words === undefined ? status : { ...status, message: { ...message([text(words)]), ...this.ids } };
  }
}

function message(parts) {
  return { kind: "message", messageId: crypto.randomUUID(), role: "agent", parts };
}

function text(value) {
  return { kind: "text", text: value };
}
