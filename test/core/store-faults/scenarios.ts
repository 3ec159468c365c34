import { TaskState } from "../../../src/protocol/model.js";
import type { Caller } from "./caller.js";
import { configure, readConfigured, unconfigure } from "./push-calls.js";
import type { Stage } from "./stage.js";

/** What callers do while the store fails. It continues with what it has when a call fails. */
export interface Scenario {
  readonly name: string;
  /** With push notifications. */
  readonly push?: boolean;
  readonly play: (caller: Caller, stage: Stage) => Promise<void>;
}

/** Common calls. */
export const everyday: readonly Scenario[] = [
  {
    name: "a blocking send of a task with chunks and statuses",
    async play(caller, { here, there }) {
      const task = await caller.send(here, "count");
      await caller.send(here, "reply");
      if (task !== undefined) await caller.get(there, task.id);
    },
  },
  {
    name: "a stream, two subscribers, and one that comes back",
    async play(caller, stage) {
      const { here, there } = stage;
      const streamed = caller.stream(here, "count");
      const id = await firstTask(stage);
      if (id === undefined) return void (await streamed);
      await Promise.all([
        streamed,
        caller.subscribe(here, id),
        caller.subscribe(there, id, { most: 2 }).then((by) => caller.subscribe(here, id, { by })),
      ]);
      const back = await caller.stream(there, "count", { most: 3 });
      if (back.lastId !== undefined) await caller.subscribe(here, back.taskId, { by: back });
    },
  },
  {
    name: "turns that ask, follow-ups, and messages to a busy task",
    async play(caller, stage) {
      const { here, there } = stage;
      const task = await caller.send(here, "question");
      if (task !== undefined) {
        const taskId = task.id;
        await caller.send(there, "question", { taskId });
        await caller.send(here, "receive", { taskId, immediately: true });
        await Promise.all([
          caller.send(there, "first", { taskId }),
          caller.send(here, "second", { taskId, immediately: true }),
        ]);
      }
      const answer = await caller.send(there, "ask");
      if (answer === undefined) return;
      await caller.send(here, "this", { taskId: answer.id });
      await caller.get(there, answer.id);
    },
  },
  {
    name: "a cancel of a task that runs, and of one that waits",
    async play(caller, { here, there }) {
      const runs = await caller.send(here, "stay", { immediately: true });
      const waits = await caller.send(here, "question");
      if (waits !== undefined) await caller.cancel(there, waits.id);
      if (runs !== undefined) await caller.cancel(there, runs.id);
      const own = await caller.send(here, "stay", { immediately: true });
      if (own !== undefined) await caller.cancel(here, own.id);
    },
  },
  {
    name: "reads and lists while a task runs",
    async play(caller, { here, there }) {
      const waits = await caller.send(there, "question");
      const runs = caller.send(here, "count");
      for (const process of [here, there]) {
        const listed = await caller.list(process);
        for (const { id } of listed) await Promise.all([caller.get(here, id), caller.get(there, id)]);
        if (waits !== undefined) await caller.get(process, waits.id);
      }
      await runs;
    },
  },
];

/** Longer calls, and calls to both handlers. */
export const hardDays: readonly Scenario[] = [
  {
    name: "a message sent once, by way of two handlers",
    async play(caller, stage) {
      const { here, there } = stage;
      const both = async (text: string, messageId: string, taskId?: string): Promise<string | undefined> => {
        const how = { messageId, once: true, ...(taskId === undefined ? {} : { taskId }) };
        const answers = await Promise.all([caller.send(here, text, how), caller.send(there, text, how)]);
        const again = await caller.send(there, text, how);
        const ids = new Set([...answers, again].filter((task) => task !== undefined).map(({ id }) => id));
        if (ids.size > 1) stage.fail(`${messageId} came to the tasks ${[...ids].join()}`);
        return [...ids][0];
      };
      await both("count", "once-1");
      await both("reply", "once-2");
      const id = await both("question", "once-3");
      if (id !== undefined) await both("count", "once-4", id);
    },
  },
  {
    name: "a message that no turn takes, and ones that are refused",
    async play(caller, { here, there }) {
      const runs = await caller.send(here, "stay", { immediately: true });
      if (runs !== undefined) {
        const taskId = runs.id;
        await Promise.all([
          caller.send(there, "unheard", { taskId, immediately: true }),
          caller.send(here, "unheard", { taskId, immediately: true, once: true, messageId: "once-5" }),
        ]);
        await caller.cancel(there, taskId);
        await caller.send(there, "late", { taskId, immediately: true, once: true, messageId: "once-6" });
      }
    },
  },
  {
    name: "push configurations and their deliveries, which another handler goes on with",
    push: true,
    async play(caller, stage) {
      const { here, there } = stage;
      const taskId = (await caller.send(here, "question"))?.id;
      if (taskId !== undefined) {
        const at = { caller, stage, taskId };
        await configure({ ...at, process: here }, "kept");
        await configure({ ...at, process: here }, "deleted");
        await readConfigured({ ...at, process: there });
        await unconfigure({ ...at, process: there }, "deleted");
        await caller.send(there, "question", { taskId });
      }
      await stage.close(here);
      if (taskId !== undefined) await caller.send(there, "count", { taskId });
      await stage.sleep(5000);
    },
  },
  {
    name: "a message sent once to a handler that is taken for dead",
    async play(caller, stage) {
      const { here, there } = stage;
      const how = { messageId: "once-7", once: true };
      const first = caller.send(here, "think", how);
      await stage.sleep(500);
      here.pause();
      const second = caller.send(there, "think", how);
      await stage.sleep(25_000);
      here.resume();
      await Promise.all([first, second]);
    },
  },
  {
    name: "a handler that is taken for dead, and comes back",
    async play(caller, stage) {
      const { here, there } = stage;
      const streamed = caller.stream(here, "slow");
      const id = await firstTask(stage);
      await stage.sleep(1000);
      here.pause();
      if (id !== undefined) {
        const watched = caller.subscribe(there, id);
        await stage.sleep(4000);
        await caller.get(there, id);
        await caller.noteEnd(there, id);
        await caller.send(there, "more", { taskId: id });
        await watched;
      }
      here.resume();
      await streamed;
      await caller.send(here, "question");
    },
  },
];

// The first task of the stage, once a caller was shown it; `undefined` if it does not appear in time.
async function firstTask(stage: Stage): Promise<string | undefined> {
  for (let waited = 0; waited < 100_000; waited += 10) {
    const [first] = stage.journal.tasks.values();
    if (first !== undefined && (first.states.at(-1) ?? TaskState.UNSPECIFIED) !== TaskState.UNSPECIFIED)
      return first.id;
    await stage.sleep(10);
    if (stage.open.size === 0) return undefined;
  }
  return undefined;
}
