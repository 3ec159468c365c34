/** Waits of a turn, which end when it has to stop. */
export class TurnWaits {
  readonly #rejects = new Set<(reason: unknown) => void>();

  get isEmpty(): boolean {
    return this.#rejects.size === 0;
  }

  /** Settles as `wait` does, unless all are ended first. */
  add<T>(wait: Promise<T>): Promise<T> {
    const rejects = this.#rejects;
    return new Promise((resolve, reject) => {
      rejects.add(reject);
      wait.then(resolve, reject).finally(() => rejects.delete(reject));
    });
  }

  /** Rejects all. False when there were none. */
  end(reason: unknown): boolean {
    const rejects = [...this.#rejects];
    this.#rejects.clear();
    for (const reject of rejects) reject(reason);
    return rejects.length > 0;
  }
}
