/** Whether a server takes work, for `/readyz` and the health service of gRPC. */
export interface Readiness {
  readonly status: "ready" | "draining" | "store-away";
  /** Refuses work for good. */
  drain(): void;
  storeReady(ready: boolean): void;
  /** `listener` receives each change. */
  watch(listener: (ready: boolean) => void): void;
}

export function createReadiness(): Readiness {
  const listeners: ((ready: boolean) => void)[] = [];
  let isDraining = false;
  let isStoreReady = true;
  const tell = (): void => {
    for (const listener of listeners) listener(isStoreReady && !isDraining);
  };
  return {
    get status() {
      if (isDraining) return "draining";
      return isStoreReady ? "ready" : "store-away";
    },
    drain() {
      isDraining = true;
      tell();
    },
    storeReady(ready) {
      isStoreReady = ready;
      tell();
    },
    watch: (listener) => void listeners.push(listener),
  };
}
