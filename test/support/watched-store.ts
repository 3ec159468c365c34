import type { TaskStore } from "trivium";

/** Reports entries put into the inboxes of stores, so that a test can wait for them. */
export interface WatchedStore {
  around(store: TaskStore): TaskStore;
  /** Resolves when this many messages and cancels were put into inboxes in total. */
  waitForPuts(count: number): Promise<void>;
}

export function watchStore(): WatchedStore {
  let storedCount = 0;
  let waiters: { readonly count: number; readonly resolve: () => void }[] = [];
  const countEntry = (): void => {
    storedCount++;
    for (const { count, resolve } of waiters) if (storedCount >= count) resolve();
    waiters = waiters.filter(({ count }) => count > storedCount);
  };
  return {
    around: (store) => watchPuts(store, countEntry),
    waitForPuts: (count) =>
      storedCount >= count ? Promise.resolve() : new Promise((resolve) => waiters.push({ count, resolve })),
  };
}

function watchPuts(store: TaskStore, onStored: () => void): TaskStore {
  const put: TaskStore["put"] = async (...entry) => {
    const result = await store.put(...entry);
    if (result === "stored") onStored();
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
