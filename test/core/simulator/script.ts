import type { Turn } from "../../../src/core/agent.js";
import type { Clock } from "../../../src/core/ports.js";
import { A2AError } from "../../../src/protocol/errors.js";
import {
  type AgentEvent,
  artifact,
  authRequired,
  completed,
  failed,
  inputRequired,
  park,
  rejected,
  reply,
  working,
} from "../../../src/protocol/events.js";
import type { Process } from "./process.js";
import { createRandom, type Random } from "./random.js";
import type { World } from "./world.js";

/** The error of an agent that refuses a message before its first event. */
export const refusal = "the agent does not take this";

const anHour = 3_600_000;

interface Stage {
  readonly turn: Turn;
  readonly random: Random;
  readonly clock: Clock;
  /** Ignores its abort signal. */
  readonly deaf: boolean;
  receive(): Promise<void>;
  ask(question: AgentEvent): Promise<void>;
  flush(): Promise<void>;
  /** Number of its last chunk. */
  chunk: number;
}

/** Registers an agent that waits for the framework, which must settle the wait in any case. */
export async function waitFor<T>({ waiting }: World, turn: Turn, wait: Promise<T>): Promise<T> {
  waiting.add(turn);
  try {
    return await wait;
  } finally {
    waiting.delete(turn);
  }
}

/** What an agent does in one turn. */
export async function* script(
  turn: Turn,
  { name, agentClock: clock }: Process,
  world: World,
): AsyncGenerator<AgentEvent, AgentEvent | undefined> {
  const { journal, receiving } = world;
  // A continuing turn does something else than the previous one.
  const random = createRandom(
    Number(turn.text) + 1 + (turn.cause === "message" ? 0 : (world.turns.get(turn.taskId) ?? 0)),
  );
  const receive = async (): Promise<void> => {
    receiving.add(turn);
    const message = await waitFor(world, turn, turn.receive()).finally(() => receiving.delete(turn));
    journal.received.add(message.messageId);
  };
  const ask = async (question: AgentEvent): Promise<void> => {
    journal.received.add((await waitFor(world, turn, turn.ask(question))).messageId);
  };
  const flush = (): Promise<void> => waitFor(world, turn, turn.flush());
  const stage: Stage = { turn, random, clock, receive, ask, flush, deaf: random.chance(0.2), chunk: -1 };
  if (random.chance(0.05)) throw new A2AError("contentTypeNotSupported", refusal);
  if (random.chance(0.1)) await sleep(stage, random.int(1, 600));
  const { replies } = world.weather;
  if (replies > 0 && turn.task === undefined && random.chance(replies)) {
    if (!turn.signal.aborted) journal.agentEnds(name, turn.taskId, stage.chunk);
    return reply("at once");
  }
  const count = random.pick([0, 1, 3, 6, 12]);
  try {
    for (let step = 0; step < count; step++) yield* random.pick(steps)(stage, step);
  } catch (error) {
    if (!turn.signal.aborted || random.chance(0.5)) throw error;
    yield* lastWords(stage);
  }
  if (random.chance(0.07)) {
    await sleep({ ...stage, deaf: true }, anHour);
  }
  const last = await random.pick(endings)(stage);
  if (!turn.signal.aborted) journal.agentEnds(name, turn.taskId, stage.chunk);
  return last;
}

// Events that an agent yields while it unwinds.
async function* lastWords(stage: Stage): AsyncGenerator<AgentEvent, void> {
  const { random } = stage;
  yield artifact("late", { artifactId: "last" });
  if (random.chance(0.3)) await sleep({ ...stage, deaf: true }, random.int(1, 1500));
  if (random.chance(0.5)) yield failed("gave up");
}

type Step = (stage: Stage, step: number) => AsyncGenerator<AgentEvent, void>;

const chunk: Step = async function* (stage, step) {
  const { random } = stage;
  const artifactId = random.pick(["a", "b"]);
  stage.chunk = step * 1000;
  yield artifact(`${step};`, { artifactId, append: random.chance(0.8), lastChunk: random.chance(0.2) });
};

const burst: Step = async function* (stage, step) {
  const chunks = stage.random.int(2, 90);
  for (let index = 0; index < chunks; index++) {
    stage.chunk = step * 1000 + index;
    yield artifact(`${step}.${index};`, { artifactId: "c", append: index > 0 });
  }
};

const pause: Step = async function* (stage) {
  await sleep(stage, stage.random.pick([1, 10, 200, 1500]));
};

const report: Step = async function* ({ random }) {
  yield random.chance(0.5) ? working() : working("on it");
};

const inquire: Step = async function* ({ random, ask, receive }) {
  const question = random.chance(0.7) ? inputRequired("which?") : authRequired("who?");
  if (random.chance(0.5)) await ask(question);
  else {
    yield question;
    await receive();
  }
};

const save: Step = async function* ({ flush }) {
  await flush();
};

const listen: Step = async function* ({ random, receive }) {
  if (random.chance(0.3)) await receive();
};

// Waits for a message while yielding events.
const listenAside: Step = async function* ({ random, receive }) {
  if (random.chance(0.8)) return;
  const received = receive();
  received.catch(() => {});
  yield random.chance(0.5) ? working("meanwhile") : inputRequired("and?");
  await received;
};

const steps: readonly [Step, ...Step[]] = [
  chunk,
  chunk,
  chunk,
  burst,
  pause,
  pause,
  inquire,
  report,
  save,
  listen,
  listenAside,
];

type Ending = (stage: Stage) => AgentEvent | undefined | Promise<AgentEvent | undefined>;

const endings: readonly [Ending, ...Ending[]] = [
  () => undefined,
  () => undefined,
  () => completed(),
  () => failed("could not"),
  () => rejected("will not"),
  () => reply("that is all"),
  () => inputRequired("more?"),
  () => inputRequired("more?"),
  () => inputRequired("more?"),
  () => authRequired("who?"),
  () => park(),
  ({ clock, random }) => park({ wakeAt: clock.now() + random.int(-10, 3000) }),
  async ({ clock, random, turn }) => {
    await turn.emit(random.chance(0.5) ? inputRequired("or wait?") : authRequired("or wait?"));
    return park({ wakeAt: clock.now() + random.int(1, 3000) });
  },
  () => {
    throw new Error("secret");
  },
  async ({ receive }) => {
    await receive();
    return undefined;
  },
  // Ends the task and still waits for a message.
  async ({ turn, receive }) => {
    const received = receive();
    received.catch(() => {});
    await turn.emit(completed());
    await received;
    return undefined;
  },
];

async function sleep({ clock, turn, deaf }: Stage, ms: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const cancel = clock.after(ms, resolve);
    if (deaf) return;
    const stop = (): void => {
      cancel();
      reject(turn.signal.reason);
    };
    if (turn.signal.aborted) stop();
    else turn.signal.addEventListener("abort", stop, { once: true });
  });
}
