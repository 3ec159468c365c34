import { assertOptions } from "../../protocol/check/rules.js";
import { type ContractTest, collectTests, historyRule, type MakeTaskStore } from "./suite.js";
import { agentTests } from "./task-store-agents.js";
import { contextValueTests } from "./task-store-context-values.js";
import { conversationTests } from "./task-store-conversations.js";
import { holderTests } from "./task-store-holders.js";
import { inboxTests } from "./task-store-inbox.js";
import { listTests } from "./task-store-list.js";
import { logTests } from "./task-store-log.js";
import { modelTests } from "./task-store-model.js";
import { nameTests } from "./task-store-names.js";
import { parkedTests } from "./task-store-parked.js";
import { raceTests } from "./task-store-races.js";
import { sendTests } from "./task-store-sends.js";
import { sizeTests } from "./task-store-sizes.js";
import { summaryTests } from "./task-store-summaries.js";
import { turnTests } from "./task-store-turns.js";

/** Random histories of the contract. */
export interface TaskStoreContractOptions {
  /** Number of random histories. Default: 100. */
  readonly histories?: number | undefined;
  /** Reproduces the histories of a failure, whose message contains its seed. Default: random. */
  readonly seed?: number | undefined;
}

/**
 * Returns the tests that every `TaskStore` must pass, for any runner.
 *
 * @example
 * ```ts
 * describe("our task store", () => {
 *   for (const { name, run } of taskStoreContract(async () => ({ store: openTaskStore() }))) it(name, run);
 * });
 * ```
 */
export function taskStoreContract(
  make: MakeTaskStore,
  options: TaskStoreContractOptions = {},
): readonly ContractTest[] {
  assertOptions("taskStoreContract()", options, historyRule);
  const { histories = 100, seed } = options;
  return collectTests((suite) => {
    logTests(suite, make);
    inboxTests(suite, make);
    holderTests(suite, make);
    turnTests(suite, make);
    parkedTests(suite, make);
    listTests(suite, make);
    summaryTests(suite, make);
    nameTests(suite, make);
    agentTests(suite, make);
    raceTests(suite, make);
    sendTests(suite, make);
    conversationTests(suite, make);
    contextValueTests(suite, make);
    sizeTests(suite, make);
    modelTests(suite, make, { histories, seed });
  });
}
