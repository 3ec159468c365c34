import type { TaskStore } from "trivium";
import { describe, expect, it } from "vitest";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryRates } from "../../src/store/memory/rates.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import {
  type ContractTest,
  pushStoreContract,
  type RateStore,
  rateStoreContract,
  signalsContract,
  taskStoreContract,
} from "../../src/testing/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";

const failing = async (tests: readonly ContractTest[]): Promise<string[]> => {
  const names: string[] = [];
  for (const { name, run } of tests) await run().catch(() => names.push(name));
  return names;
};
const messageOf = (run: () => Promise<void>): Promise<string> =>
  run().then(
    () => "",
    (error: Error) => error.message,
  );

describe("the contract of a task store", () => {
  const spoilt = (changes: (store: TaskStore) => Partial<TaskStore>) => async () => {
    const store = memoryTaskStore();
    return { store: Object.assign(store, changes(store)) };
  };
  const model = (tests: readonly ContractTest[]) =>
    tests.find(({ name }) => name.startsWith("does what the model does"));

  it("the contract of a task store gives each test its own name", () => {
    const names = taskStoreContract(spoilt(() => ({}))).map(({ name }) => name);
    expect(names.length).toBeGreaterThan(50);
    expect(new Set(names).size).toBe(names.length);
  });

  it("the contract of a task store finds a fence that admits every write, by the shortest history", async () => {
    const make = spoilt((store) => {
      const append = store.append.bind(store);
      return {
        append: async (write) => ((await append(write)) === "fenced" ? "stored" : "stored"),
      };
    });
    const message = await messageOf(model(taskStoreContract(make, { seed: 7 }))?.run ?? (async () => {}));
    expect(message).toMatch(/^with seed 7 the store does not do what the model does: \[\{"act":"append"/);
    expect(message.match(/"act"/g)?.length).toBeLessThan(4);
    expect(await messageOf(model(taskStoreContract(make, { seed: 7 }))?.run ?? (async () => {}))).toBe(message);
  });
});

describe("the contract of a task store, on names", () => {
  const spoilt = (changes: (store: TaskStore) => Partial<TaskStore>) => async () => {
    const store = memoryTaskStore();
    return { store: Object.assign(store, changes(store)) };
  };

  it("the contract of a task store finds a store that lets two tasks have one name", async () => {
    const make = spoilt((store) => {
      const create = store.create.bind(store);
      return { create: (task) => create(task).catch(() => create({ ...task, name: undefined })) };
    });
    expect(await failing(taskStoreContract(make, { histories: 0 }))).toEqual(
      expect.arrayContaining([
        "the name of a task stays with a task that has ended",
        "a name that is taken is refused to a new task, of which nothing is written",
        "a name that is taken goes to one of several tasks that are made at once",
      ]),
    );
  });

  it("the contract of a task store finds a store that shows names to other owners", async () => {
    const make = spoilt((store) => {
      const taskNamed = store.taskNamed.bind(store);
      const owners = ["alice", "bob", "ab"];
      return {
        async taskNamed(_, name) {
          for (const owner of owners) {
            const id = await taskNamed({ agent: "", tenant: "", owner }, name);
            if (id !== undefined) return id;
          }
          return undefined;
        },
      };
    });
    expect(await failing(taskStoreContract(make, { histories: 0 }))).toEqual([
      "the name of a task leads to its task in its scope, and nowhere else",
      "the name of a task may be used once in each scope",
      "the name of a task distinguishes scopes and names that are spelled alike when joined",
      "a task of one agent is not read, nor named, at another",
    ]);
  });
});

describe("the contract of a push store", () => {
  it("the contract of a push store detects one that lets a cursor go back", async () => {
    const make = async () => {
      const store = memoryPushStore();
      const set = store.set.bind(store);
      return {
        store: Object.assign(store, {
          async advance(key: number, id: string, cursor: number): Promise<void> {
            const record = await store.get(key, id);
            if (record !== undefined) await set({ ...record, cursor }, 10);
          },
        }),
      };
    };
    expect(await failing(pushStoreContract(make))).toEqual([
      "push configurations moves a cursor forward, never back, and not for what is gone",
    ]);
  });
});

describe("the contract of signals", () => {
  it("the contract of signals detects ones that notify a listener after it has unsubscribed", async () => {
    const make = async () => {
      const listeners: ((hint: { kind: "moved" | "inbox"; taskId: string }) => void)[] = [];
      const signals = {
        publish(hint: { kind: "moved" | "inbox"; taskId: string }): void {
          for (const listener of listeners) {
            try {
              listener(hint);
            } catch {}
          }
        },
        subscribe(listener: (typeof listeners)[number]) {
          listeners.push(listener);
          return () => {};
        },
      };
      return { here: signals, there: signals };
    };
    expect(await failing(signalsContract(make))).toEqual([
      "signals reach no listener that has ended its subscription, and still reach the others",
    ]);
  });
});

describe("the contract of limits that processes share", () => {
  const spoilt = (change: (rates: RateStore) => RateStore) => async () => {
    const clock = createTestClock();
    const rates = change(memoryRates(clock));
    return { here: rates, there: rates, advance: (ms: number) => clock.advance(ms) };
  };

  it("the contract of shared limits finds a store that forgets what was used already", async () => {
    const forgets = spoilt(({ draw }) => ({ draw: (draws) => draw(draws.map((each) => ({ ...each, used: 0 }))) }));
    expect(await failing(rateStoreContract(forgets))).toContain(
      "limits that processes share count what was used already, whether or not so much is left",
    );
  });

  it("the contract of shared limits finds a store that counts for each process by itself", async () => {
    const apart = async () => {
      const clock = createTestClock();
      const advance = (ms: number) => clock.advance(ms);
      return { here: memoryRates(clock), there: memoryRates(clock), advance };
    };
    const history = rateStoreContract(apart, { seed: 3 }).find(({ name }) => name.startsWith("never grant more"));
    expect(await messageOf(history?.run ?? (async () => {}))).toMatch(/^with seed 3: \d+ were granted of \d+$/);
    expect(await failing(rateStoreContract(apart, { histories: 0 }))).toContain(
      "limits that processes share let the draws of a moment have each its own",
    );
  });

  it("the contract of shared limits finds a store whose windows never end", async () => {
    const endless = spoilt(({ draw }) => ({
      draw: (draws) => draw(draws.map((each) => ({ ...each, windowMs: 1000 * each.windowMs }))),
    }));
    expect(await failing(rateStoreContract(endless))).toContain(
      "the windows of limits that processes share end, and the next one has the whole limit",
    );
  });
});
