import type { Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";

interface NamedTask {
  readonly id: string;
  readonly scope: Scope;
  readonly name?: string | undefined;
}

/** The names that callers give tasks. A name identifies one task of its scope while the task exists. */
export class NameIndex {
  readonly #ids = new Map<string, string>();

  find(scope: Scope, name: string): string | undefined {
    return this.#ids.get(keyOf(scope, name));
  }

  /** Throws when another task has the name. */
  assertFree({ scope, name }: NamedTask): void {
    if (name === undefined || this.find(scope, name) === undefined) return;
    throw new A2AError("internalError", `a task with the name ${JSON.stringify(name)} exists`);
  }

  add({ id, scope, name }: NamedTask): void {
    if (name !== undefined) this.#ids.set(keyOf(scope, name), id);
  }

  delete({ scope, name }: NamedTask): void {
    if (name !== undefined) this.#ids.delete(keyOf(scope, name));
  }

  clear(): void {
    this.#ids.clear();
  }
}

function keyOf({ agent, tenant, owner }: Scope, name: string): string {
  return JSON.stringify([agent, tenant, owner, name]);
}
