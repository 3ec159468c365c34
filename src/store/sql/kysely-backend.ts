import type { Kysely } from "kysely";
import { createContextSweep } from "./context-sweep.js";
import type { DbContext, HotPath, SqlDialect } from "./dialect.js";
import { migrate } from "./migrate.js";
import { prune } from "./prune.js";
import { conversationQueries } from "./queries/conversations.js";
import { inboxQueries } from "./queries/inbox.js";
import { checkWritable, instanceQueries } from "./queries/instances.js";
import { listTasks } from "./queries/list.js";
import { pushQueries } from "./queries/push.js";
import { sendQueries } from "./queries/sends.js";
import { taskQueries } from "./queries/tasks.js";
import type { Backend } from "./rows.js";
import type { Database } from "./schema.js";

export interface KyselyBackendOptions {
  /** May be a transaction, which every call then joins. */
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
  readonly hot: HotPath;
}

/** A backend over a database of either dialect. `close` also closes `db`. */
export function createKyselyBackend({ db, dialect, hot }: KyselyBackendOptions): Backend {
  const context: DbContext = { db, dialect };
  const sweep = createContextSweep();
  return {
    async open(report) {
      await migrate(context, report);
      await checkWritable(context);
    },
    create: (task) => hot.create(task, context),
    append: (write) => hot.append(write, context),
    addToConversations: (writes) => hot.addToConversations(writes, context),
    list: (scope, query) => listTasks(context, scope, query),
    ...taskQueries(context),
    ...inboxQueries(context),
    ...instanceQueries(context),
    ...sendQueries(context),
    ...conversationQueries(context),
    push: pushQueries(context),
    prune: (retention, limit) => prune(context, { retention, limit, sweep }),
    close: () => db.destroy(),
  };
}
