import type { Clock, Head, Hint, Signals, TaskStore } from "./ports.js";

// Readers are woken by hints of this process (`signals/in-process.ts`) and, with PostgreSQL, of others
// (`store/postgres/signals.ts`), and one poll of heads in `pollMs` repairs what was lost. A change in this process wakes
// after the macrotask that stored it, so a reader that keeps up reads many events at once.

/** A watcher of a task's changes. Waking is cheap and may be for nothing. */
export interface Watcher {
  readonly taskId: string;
  /** The store's key, once the task has one. */
  readonly key: number | undefined;
  /** The task may have new records, or its inbox a new entry. */
  wake(hint: Hint["kind"]): void;
  /** Number of the last record read, for one that reads. */
  readonly position?: number | undefined;
  /** Receives the task's stored head once per poll. */
  check(head: Head): void;
  /** No more wakes follow. */
  close(): void;
}

/** Wakes the watchers of a task: by hints, and by one poll for all watched tasks, which makes up for lost hints. */
export interface Watch {
  readonly watchers: Iterable<Watcher>;
  add(watcher: Watcher): void;
  delete(watcher: Watcher): void;
  /** The task changed in this process. Its watchers are woken once, after the current macrotask. */
  noteChange(taskId: string): void;
  close(): void;
}

export interface WatchOptions {
  readonly store: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly pollMs: number;
  /** Called with the error of a failed poll. */
  readonly onError: (error: unknown) => void;
}

export function createWatch(options: WatchOptions): Watch {
  const { store, signals, clock, pollMs, onError } = options;
  const watchers = new Map<string, Set<Watcher>>();
  const changedTasks = new Set<string>();
  let scheduled = false;
  let cancelPoll: (() => void) | undefined;
  let closed = false;

  const wake = (taskId: string, kind: Hint["kind"]): void => {
    for (const watcher of watchers.get(taskId) ?? []) watcher.wake(kind);
  };

  const unsubscribe = signals.subscribe((hint) => wake(hint.taskId, hint.kind));

  const wakeChanged = (): void => {
    scheduled = false;
    const ids = [...changedTasks];
    changedTasks.clear();
    for (const id of ids) wake(id, "moved");
  };

  const checkHeads = async (): Promise<void> => {
    const keys = listKeys(watchers);
    if (keys.length === 0) return;
    for (const head of await store.heads(keys)) {
      for (const watcher of watchers.get(head.id) ?? []) watcher.check(head);
    }
  };

  const poll = async (): Promise<void> => {
    cancelPoll = undefined;
    await checkHeads().catch(onError);
    schedulePoll();
  };

  const schedulePoll = (): void => {
    if (closed || cancelPoll !== undefined || watchers.size === 0) return;
    cancelPoll = clock.after(pollMs, () => void poll());
  };

  return {
    get watchers() {
      return [...watchers.values()].flatMap((each) => [...each]);
    },
    add(watcher) {
      if (closed) return watcher.close();
      const group = watchers.get(watcher.taskId);
      if (group === undefined) watchers.set(watcher.taskId, new Set([watcher]));
      else group.add(watcher);
      schedulePoll();
    },
    delete(watcher) {
      const group = watchers.get(watcher.taskId);
      group?.delete(watcher);
      if (group?.size === 0) watchers.delete(watcher.taskId);
    },
    noteChange(taskId) {
      if (!watchers.has(taskId)) return;
      changedTasks.add(taskId);
      if (scheduled) return;
      scheduled = true;
      setImmediate(wakeChanged);
    },
    close() {
      closed = true;
      cancelPoll?.();
      unsubscribe();
      for (const watcher of [...watchers.values()].flatMap((each) => [...each])) watcher.close();
    },
  };
}

/** One handler's part of a watch: closing it closes its watchers alone. */
export function shareWatch(watch: Watch): Watch {
  const own = new Set<Watcher>();
  let closed = false;
  return {
    watchers: own,
    add(watcher) {
      if (closed) return watcher.close();
      own.add(watcher);
      watch.add(watcher);
    },
    delete(watcher) {
      own.delete(watcher);
      watch.delete(watcher);
    },
    noteChange: watch.noteChange,
    close() {
      closed = true;
      for (const watcher of [...own]) {
        watch.delete(watcher);
        watcher.close();
      }
    },
  };
}

function listKeys(watchers: ReadonlyMap<string, ReadonlySet<Watcher>>): number[] {
  const keys: number[] = [];
  for (const set of watchers.values()) {
    for (const { key } of set) {
      if (key === undefined) continue;
      keys.push(key);
      break;
    }
  }
  return keys;
}
