import type { Kysely } from "kysely";
import type { DbContext, HotPath, SqlDialect } from "./dialect.js";
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

/** A backend over a database of either dialect. `close` closes `db` too. */
export function createKyselyBackend({ db, dialect, hot }: KyselyBackendOptions): Backend {
  const context: DbContext = { db, dialect };
  return {
    async open(report) {
      await migrate(context, report);
      await instances.checkWritable(context);
    },
    create: (task) => hot.create(task, context),
    append: (write) => hot.append(write, context),
    taskNamed: (scope, name) => tasks.taskNamed(context, scope, name),
    read: (scope, id) => tasks.readTask(context, scope, id),
    head: (scope, id) => tasks.readHead(context, scope, id),
    recordsAfter: (key, after, limit) => tasks.recordsAfter(context, key, { after, limit }),
    heads: (keys) => tasks.readHeads(context, keys),
    list: (scope, query) => listTasks(context, scope, query),
    put: (key, entry, maxMessages, fence) => inbox.putEntry(context, { key, entry, maxMessages, fence }),
    inbox: (key) => inbox.readInbox(context, key),
    withdraw: (key, entryId) => inbox.withdrawEntry(context, key, entryId),
    renew: (instance, ttlMs) => instances.renewInstance(context, instance, ttlMs),
    retire: (instance) => instances.retireInstance(context, instance),
    orphans: (agent, limit, after) => instances.orphans(context, { agent, limit, after }),
    due: (agent, limit, after) => instances.dueTasks(context, { agent, limit, after }),
    beginSend: (send) => sends.beginSend(context, send),
    readSend: (scope, messageId) => sends.readSend(context, scope, messageId),
    takeSend: (claim, instance) => sends.takeSend(context, claim, instance),
    settleSend: (claim, outcome) => sends.settleSend(context, claim, outcome),
    forgetSend: (claim) => sends.forgetSend(context, claim),
    pushSet: (row, max) => push.setConfig(context, row, max),
    pushGet: (key, id) => push.readConfig(context, key, id),
    pushList: (key) => push.listConfigs(context, key),
    pushDelete: (key, id) => push.deleteConfig(context, key, id),
    pushAdvance: (key, id, cursor) => push.advanceConfig(context, { key, id, cursor }),
    pushSettle: (key, id, end) => push.settleConfig(context, { key, id, ...end }),
    pushAdopt: (agent, instance, limit) => push.adoptConfigs(context, { agent, instance, limit }),
    pushRelease: (instance) => push.releaseConfigs(context, instance),
    prune: (retention, limit) => prune(context, retention, limit),
    close: () => db.destroy(),
  };
}
