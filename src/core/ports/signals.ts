/** `moved`: the task has new records. `inbox`: something was put into its inbox. */
export interface Hint {
  readonly kind: "moved" | "inbox";
  readonly taskId: string;
}

/** Hints between handlers of one store. They may be lost, late or doubled: they only wake. */
export interface Signals {
  publish(hint: Hint): void;
  /** The returned function ends it. */
  subscribe(listener: (hint: Hint) => void): () => void;
}
