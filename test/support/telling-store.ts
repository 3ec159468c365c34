import type { TaskStore } from "trivium";

/** Reports entries put into the inboxes of stores, so that a test can wait for them. */
export interface TellingStore {
  around(store: TaskStore): TaskStore;
  /** Resolves when this many messages and cancels were put into inboxes in total. */
  put(count: number): Promise<void>;
}

export function tellingStore(): TellingStore {
  let stored = 0;
  let waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  const told = (): void => {
    stored++;
    for (const { count, resolve } of waiters) if (stored >= count) resolve();
    waiters = waiters.filter(({ count }) => count > stored);
  };
  return {
    around: (store) => tellOf(store, told),
    put: (count) => (stored >= count ? Promise.resolve() : new Promise((resolve) => waiters.push({ count, resolve }))),
  };
}

function tellOf(store: TaskStore, told: () => void): TaskStore {
  const put: TaskStore["put"] = async (...entry) => {
    const result = await store.put(...entry);
    if (result === "stored") told();
    return result;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === "put") return put;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
