import type { MakeTaskStore, Suite } from "./suite.js";
import { holderTests } from "./task-store-holders.js";
import { inboxTests } from "./task-store-inbox.js";
import { listTests } from "./task-store-list.js";
import { logTests } from "./task-store-log.js";
import { modelTests } from "./task-store-model.js";
import { raceTests } from "./task-store-races.js";

/** What every `TaskStore` does. `runs`: how many random histories are tried. Default: 100. */
export function taskStoreContract(suite: Suite, name: string, make: MakeTaskStore, runs = 100): void {
  suite.describe(`the task store ${name}`, () => {
    logTests(suite, make);
    inboxTests(suite, make);
    holderTests(suite, make);
    listTests(suite, make);
    raceTests(suite, make);
    modelTests(suite, make, runs);
  });
}
