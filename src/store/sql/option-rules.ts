import { exceeds, type OptionPair, withContradictions } from "../../protocol/check/contradictions.js";
import { amount, clock, duration, logger, type MembersOf, object } from "../../protocol/check/rules.js";
import type { RetentionOptions } from "./maintenance.js";
import type { SqlStoreOptions } from "./task-store.js";

const retention: MembersOf<RetentionOptions> = {
  tasksMs: { rule: amount },
  tasksMax: { rule: amount },
  logsMs: { rule: amount },
  sendsMs: { rule: amount },
};

/** Options of retention that contradict each other. */
const logsBeyondTasks: OptionPair = {
  lower: "logsMs",
  upper: "tasksMs",
  why: "the log of a task is dropped with its task",
};

/** The rules of the options of a store over a database. */
export const sqlMembers: MembersOf<SqlStoreOptions> = {
  clock: { rule: clock },
  retention: { rule: withContradictions(object(retention), [exceeds(logsBeyondTasks)]) },
  pruneEveryMs: { rule: duration(1) },
  logger: { rule: logger },
};
