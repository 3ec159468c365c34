/** Whether a server takes work, for `/readyz` and the health service of gRPC. */
export interface Readiness {
  readonly status: "ready" | "draining" | "store-away" | "overloaded";
  /** Refuses work for good. */
  drain(): void;
  storeReady(ready: boolean): void;
  /** Whether the process has taken sends at some time lately. */
  loadReady(ready: boolean): void;
  /** `listener` receives each change. */
  watch(listener: (ready: boolean) => void): void;
}

export function createReadiness(): Readiness {
  const listeners: ((ready: boolean) => void)[] = [];
  let isDraining = false;
  let isStoreReady = true;
  let isLoadReady = true;
  const tell = (): void => {
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
      tell();
    },
    storeReady(ready) {
      isStoreReady = ready;
      tell();
    },
    loadReady(ready) {
      isLoadReady = ready;
      tell();
    },
    watch: (listener) => void listeners.push(listener),
  };
}
