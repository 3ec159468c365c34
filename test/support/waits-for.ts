import type { TaskStore } from "../../src/core/ports.js";
import type { Immediates } from "./immediates.js";

/** Counts as unsettled while a store in another thread owes an answer. */
export interface WaitsFor extends Immediates {
  /** Wraps a store so that its calls are waited for. */
  of(store: TaskStore): TaskStore;
}

/** Keeps virtual time still while real answers are pending. */
export function waitsFor(immediates: Immediates): WaitsFor {
  const pendingAnswers = new Set<Promise<unknown>>();
  return {
    of: (store) =>
      new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== "function") return member;
          return (...args: readonly unknown[]) => {
            const answer = Promise.resolve(Reflect.apply(member, target, args));
            pendingAnswers.add(answer);
            const remove = (): void => void pendingAnswers.delete(answer);
            answer.then(remove, remove);
            return answer;
          };
        },
      }),
    async settle() {
      for (;;) {
        await immediates.settle();
        if (pendingAnswers.size === 0) return;
        await Promise.race(pendingAnswers).catch(() => {});
      }
    },
    restore: () => immediates.restore(),
  };
}
