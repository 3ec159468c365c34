import { memoryTaskStore, type TaskStore } from "trivium";
import type { VirtualClock } from "./virtual-clock.js";

/** A memory store that tells what waits in inboxes, so that a test can wait for it. */
export interface TellingStore {
  readonly store: TaskStore;
  /** Resolves when so many messages and cancels were put into inboxes, all in all. */
  put(count: number): Promise<void>;
}

export function tellingStore(clock?: VirtualClock): TellingStore {
  const store = memoryTaskStore(clock === undefined ? {} : { clock });
  let stored = 0;
  let waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  const put: TaskStore["put"] = async (...entry) => {
    const result = await store.put(...entry);
    if (result === "stored") stored++;
    for (const { count, resolve } of waiters) if (stored >= count) resolve();
    waiters = waiters.filter(({ count }) => count > stored);
    return result;
  };
  const telling = new Proxy(store, {
    get(target, name) {
      if (name === "put") return put;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return {
    store: telling,
    put: (count) => (stored >= count ? Promise.resolve() : new Promise((resolve) => waiters.push({ count, resolve }))),
  };
}
