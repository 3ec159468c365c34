import { callOf, type PushStore, portOf, pushCalls } from "../../core/ports.js";
import { checkRegistration } from "../check-indexed.js";
import type { DatabaseLifecycle } from "./database-lifecycle.js";
import { pushFromRow, pushToRow } from "./payload.js";
import type { PlainPushCalls } from "./rows.js";

/** The push store of a SQL store. Closing it does nothing: it stays open with its store. */
export function createSqlPushStore({ ask }: Pick<DatabaseLifecycle, "ask">): PushStore {
  return {
    ...portOf<PlainPushCalls>(
      pushCalls,
      (method) =>
        (...args) =>
          ask(({ push }) => callOf(push, method, args)),
    ),
    async set(registration, max) {
      checkRegistration(registration);
      const row = pushToRow(registration);
      return ask((backend) => backend.push.set(row, max));
    },
    async get(key, id) {
      const row = await ask((backend) => backend.push.get(key, id));
      return row === undefined ? undefined : pushFromRow(row);
    },
    async list(key) {
      const rows = await ask((backend) => backend.push.list(key));
      return rows.map(pushFromRow);
    },
    async adopt(agent, instance, limit) {
      const rows = await ask((backend) => backend.push.adopt(agent, instance, limit));
      return rows.map(pushFromRow);
    },
    async close() {},
  };
}
