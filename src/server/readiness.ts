/** Whether a server takes work, for `/readyz` and the health service of gRPC. */
export interface Readiness {
  readonly status: "ready" | "draining" | "store-away" | "overloaded";
  /** Refuses work for good. */
  drain(): void;
  setStoreReady(ready: boolean): void;
  /** Whether the process has taken sends at some time lately. */
  setLoadReady(ready: boolean): void;
  /** `listener` receives each change. */
  watch(listener: (ready: boolean) => void): void;
}

export function createReadiness(): Readiness {
  const listeners: ((ready: boolean) => void)[] = [];
  let isDraining = false;
  let isStoreReady = true;
  let isLoadReady = true;
  const notify = (): void => {
    for (const listener of listeners) listener(isStoreReady && isLoadReady && !isDraining);
  };
  return {
    get status() {
      if (isDraining) return "draining";
      if (!isStoreReady) return "store-away";
      return isLoadReady ? "ready" : "overloaded";
    },
    drain() {
      isDraining = true;
      notify();
    },
    setStoreReady(ready) {
      isStoreReady = ready;
      notify();
    },
    setLoadReady(ready) {
      isLoadReady = ready;
      notify();
    },
    watch: (listener) => void listeners.push(listener),
  };
}
