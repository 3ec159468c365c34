/** `moved`: the task has new records. `inbox`: an entry was put into its inbox. */
export interface Hint {
  readonly kind: "moved" | "inbox";
  readonly taskId: string;
}

/** Hints between handlers of one store, in one process or in several. A hint may be lost, late or duplicated; it only wakes the reader. */
export interface Signals {
  /** Sends a hint to the subscribers. Returns at once; a failure is not reported. */
  publish(hint: Hint): void;
  /** The returned function unsubscribes. */
  subscribe(listener: (hint: Hint) => void): () => void;
}
