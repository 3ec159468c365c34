/** Waits of a turn, which reject when it must stop. */
export class TurnWaits {
  readonly #rejects = new Set<(reason: unknown) => void>();

  get isEmpty(): boolean {
    return this.#rejects.size === 0;
  }

  /** Settles like `wait`, unless all waits are ended first. */
  add<T>(wait: Promise<T>): Promise<T> {
    const rejects = this.#rejects;
    return new Promise((resolve, reject) => {
      rejects.add(reject);
      // Removed before it settles: an abort by the waiting code must not find a wait that is over.
      wait.finally(() => rejects.delete(reject)).then(resolve, reject);
    });
  }

  /** Rejects every wait. Returns false when there were none. */
  end(reason: unknown): boolean {
    const rejects = [...this.#rejects];
    this.#rejects.clear();
    for (const reject of rejects) reject(reason);
    return rejects.length > 0;
  }
}
