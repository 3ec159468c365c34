import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname, join } from "node:path";
import { noop } from "../../protocol/async/noop.js";

/** Waits for changes of files. It watches their folders: a watch of a file ends when an editor replaces the file. */
export class FileChanges {
  readonly #files = new Set<string>();
  readonly #folders = new Map<string, FSWatcher>();
  #next = Promise.withResolvers<string>();

  add(file: string): void {
    this.#files.add(file);
    const folder = dirname(file);
    if (this.#folders.has(folder) || !existsSync(folder)) return;
    const watcher = watch(folder, (_, name) => {
      if (name !== null && this.#files.has(join(folder, name))) this.#next.resolve(join(folder, name));
    });
    // A folder that is removed has no more changes.
    watcher.on("error", noop);
    this.#folders.set(folder, watcher);
  }

  /** The first file that changes from now on. */
  next(): Promise<string> {
    this.#next = Promise.withResolvers<string>();
    return this.#next.promise;
  }

  close(): void {
    for (const watcher of this.#folders.values()) watcher.close();
  }
}
