import type { Kysely } from "kysely";
import type { HotPath, Place, SqlDialect } from "./dialect.js";
import { migrate } from "./migrate.js";
import { prune } from "./prune.js";
import * as inbox from "./queries/inbox.js";
import * as instances from "./queries/instances.js";
import { listTasks } from "./queries/list.js";
import * as push from "./queries/push.js";
import * as sends from "./queries/sends.js";
import * as tasks from "./queries/tasks.js";
import type { Backend } from "./rows.js";
import type { Database } from "./schema.js";

export interface KyselyBackendOptions {
  /** May be a transaction: then each call is a part of it. */
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
  readonly hot: HotPath;
}

/** A backend over a database of either dialect. `close` leaves `db` open to nobody. */
export function createKyselyBackend({ db, dialect, hot }: KyselyBackendOptions): Backend {
  const place: Place = { db, dialect };
  return {
    async open(report) {
      await migrate(place, report);
      await instances.checkWritable(place);
    },
    create: (task) => hot.create(task, place),
    append: (write) => hot.append(write, place),
    taskNamed: (scope, name) => tasks.taskNamed(place, scope, name),
    read: (scope, id) => tasks.readTask(place, scope, id),
    head: (scope, id) => tasks.readHead(place, scope, id),
    recordsAfter: (key, after, limit) => tasks.recordsAfter(place, key, { after, limit }),
    heads: (keys) => tasks.readHeads(place, keys),
    list: (scope, query) => listTasks(place, scope, query),
    put: (key, entry, maxMessages, fence) => inbox.putEntry(place, { key, entry, maxMessages, fence }),
    inbox: (key) => inbox.readInbox(place, key),
    withdraw: (key, entryId) => inbox.withdrawEntry(place, key, entryId),
    renew: (instance, ttlMs) => instances.renewInstance(place, instance, ttlMs),
    retire: (instance) => instances.retireInstance(place, instance),
    orphans: (limit, after) => instances.orphans(place, limit, after),
    due: (limit, after) => instances.dueTasks(place, limit, after),
    beginSend: (send) => sends.beginSend(place, send),
    readSend: (scope, messageId) => sends.readSend(place, scope, messageId),
    takeSend: (claim, instance) => sends.takeSend(place, claim, instance),
    settleSend: (claim, outcome) => sends.settleSend(place, claim, outcome),
    forgetSend: (claim) => sends.forgetSend(place, claim),
    pushSet: (row, max) => push.setConfig(place, row, max),
    pushGet: (key, id) => push.readConfig(place, key, id),
    pushList: (key) => push.listConfigs(place, key),
    pushDelete: (key, id) => push.deleteConfig(place, key, id),
    pushAdvance: (key, id, cursor) => push.advanceConfig(place, { key, id, cursor }),
    pushSettle: (key, id, end) => push.settleConfig(place, { key, id, ...end }),
    pushAdopt: (instance, limit) => push.adoptConfigs(place, instance, limit),
    pushRelease: (instance) => push.releaseConfigs(place, instance),
    prune: (retention, limit) => prune(place, retention, limit),
    close: () => db.destroy(),
  };
}
