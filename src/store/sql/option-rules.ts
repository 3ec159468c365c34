import { amount, clock, logger, type MembersOf, object } from "../../protocol/check/rules.js";
import type { RetentionOptions } from "./maintenance.js";
import type { SqlStoreOptions } from "./task-store.js";

const retention: MembersOf<RetentionOptions> = {
  tasksMs: { rule: amount },
  tasksMax: { rule: amount },
  logsMs: { rule: amount },
  sendsMs: { rule: amount },
};

/** What each option of a store over a database may be. */
export const sqlMembers: MembersOf<SqlStoreOptions> = {
  clock: { rule: clock },
  retention: { rule: object(retention) },
  pruneEveryMs: { rule: amount },
  logger: { rule: logger },
};
