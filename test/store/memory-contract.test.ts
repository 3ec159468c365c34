import { describe, it } from "vitest";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { pushStoreContract } from "../contract/push-store.js";
import { taskStoreContract } from "../contract/task-store.js";
import { createVirtualClock } from "../support/virtual-clock.js";

const suite = { describe, it };

taskStoreContract(
  suite,
  "in memory",
  async () => {
    const clock = createVirtualClock();
    return { store: memoryTaskStore({ clock }), advance: (ms) => clock.advance(ms) };
  },
  300,
);

taskStoreContract(
  suite,
  "in memory, by the machine's clock, whose writes take a moment",
  async () => ({ store: memoryTaskStore({ beforeFlush: () => Promise.resolve() }) }),
  20,
);

pushStoreContract(suite, "in memory", async () => ({ store: memoryPushStore() }));
