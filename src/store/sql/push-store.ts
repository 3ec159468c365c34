import type { PushStore } from "../../core/ports.js";
import { checkRegistration } from "../check-indexed.js";
import type { DatabaseLifecycle } from "./database-lifecycle.js";
import { pushFromRow, pushToRow } from "./payload.js";

/** The push configurations of a SQL store. Closing it does nothing: it is open as long as its store. */
export function createSqlPushStore({ ask }: Pick<DatabaseLifecycle, "ask">): PushStore {
  return {
    async set(registration, max) {
      checkRegistration(registration);
      const row = pushToRow(registration);
      return ask((backend) => backend.pushSet(row, max));
    },
    async get(key, id) {
      const row = await ask((backend) => backend.pushGet(key, id));
      return row === undefined ? undefined : pushFromRow(row);
    },
    async list(key) {
      const rows = await ask((backend) => backend.pushList(key));
      return rows.map(pushFromRow);
    },
    delete: (key, id) => ask((backend) => backend.pushDelete(key, id)),
    advance: (key, id, cursor) => ask((backend) => backend.pushAdvance(key, id, cursor)),
    settle: (key, id, end) => ask((backend) => backend.pushSettle(key, id, end)),
    async adopt(agent, instance, limit) {
      const rows = await ask((backend) => backend.pushAdopt(agent, instance, limit));
      return rows.map(pushFromRow);
    },
    release: (instance) => ask((backend) => backend.pushRelease(instance)),
    async close() {},
  };
}
