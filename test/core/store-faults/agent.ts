import type { Agent, Turn } from "../../../src/core/agent.js";
import { textOf } from "../../../src/protocol/content/read.js";
import { type AgentEvent, artifact, completed, inputRequired, reply, working } from "../../../src/protocol/events.js";
import type { Process } from "../simulator/process.js";

type Sleep = (ms: number) => Promise<void>;
type Part = (turn: Turn, sleep: Sleep) => AsyncGenerator<AgentEvent>;

const chunk = (text: string, last = false): AgentEvent =>
  artifact(text, { artifactId: "a", append: text !== "1", lastChunk: last });

/** What the agent does, by the message's text. */
const parts: Readonly<Record<string, Part>> = {
  async *count(_, sleep) {
    yield working();
    for (const text of ["1", "2", "3"]) {
      yield chunk(text);
      await sleep(40);
    }
    yield working("halfway");
    yield chunk("4");
    yield chunk("5", true);
    yield completed();
  },
  async *reply() {
    yield reply("hello");
  },
  async *question() {
    yield inputRequired("?");
  },
  async *ask(turn) {
    const answer = await turn.ask(inputRequired("which?"));
    yield artifact(textOf(answer.parts));
  },
  async *receive(turn, sleep) {
    yield working();
    await sleep(300);
    yield artifact(textOf((await turn.receive()).parts));
    // A message in the inbox now starts the next turn.
    yield inputRequired("more?");
  },
  async *stay({ signal }) {
    yield working();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    yield chunk("unwinding");
  },
  async *think(_, sleep) {
    await sleep(800);
    yield chunk("1", true);
  },
  async *slow(_, sleep) {
    yield chunk("1");
    await sleep(25_000);
    yield chunk("2");
  },
};

/** An agent that does what the message says, and is tracked while it runs. */
export function playedAgent(process: Process, running: Map<string, Process[]>): Agent {
  const sleep: Sleep = (ms) => new Promise((resolve) => process.agentClock.after(ms, resolve));
  return async function* (turn) {
    const { taskId } = turn;
    running.set(taskId, [...(running.get(taskId) ?? []), process]);
    try {
      const part = parts[turn.text];
      if (part === undefined) yield artifact(turn.text);
      else yield* part(turn, sleep);
    } finally {
      const now = running.get(taskId) ?? [];
      const rest = now.toSpliced(now.indexOf(process), 1);
      if (rest.length === 0) running.delete(taskId);
      else running.set(taskId, rest);
    }
  };
}
