import { type Command, InvalidArgumentError, Option } from "commander";
import type { Retention } from "../store/sql/rows.js";
import { checkUsage, parseDuration } from "./option-values.js";
import { print, printJson, printNote } from "./print.js";
import { type DatabaseLocation, databaseLocation } from "./store-location.js";

interface StoreFlags {
  readonly store: string;
}

interface SqlFlags {
  readonly dialect: DatabaseLocation["kind"];
  readonly from: number;
}

interface PruneFlags extends StoreFlags {
  readonly tasksOlderThan: number | "never";
  readonly tasksMax?: number;
  readonly logsOlderThan: number | "never";
  readonly sendsOlderThan: number;
}

const dayMs = 86_400_000;

/** `trivium db`. Database code is loaded only when needed. */
export function dbCommand(db: Command): void {
  db.helpCommand(false);
  withStore(db.command("status").description("print the schema version of a database as JSON")).action(
    async (flags: StoreFlags, command: Command) => {
      const location = readLocation(flags, command);
      await printJson(await (await databases()).status(location));
    },
  );
  withStore(db.command("migrate").description("create or update the schema of a database")).action(
    async (flags: StoreFlags, command: Command) => {
      const location = readLocation(flags, command);
      await printJson(await (await databases()).migrate(location, printNote));
    },
  );
  db.command("sql")
    .description("print the SQL that creates the schema, to run it by hand")
    .addOption(new Option("--dialect <dialect>", "SQL dialect").choices(["sqlite", "postgres"]).makeOptionMandatory())
    .addOption(
      new Option("--from <version>", "schema version of the database").default(0, "none").argParser(parseCount),
    )
    .action(async ({ dialect, from }: SqlFlags) => {
      const text = await (await databases()).sql(dialect, from);
      if (text !== "") await print(text.trimEnd());
    });
  addPrune(db);
  const description = "invalidate old event ids: run it once after restoring a backup, before a server starts";
  withStore(db.command("restored").description(description)).action(async (flags: StoreFlags, command: Command) => {
    const location = readLocation(flags, command);
    await printJson(await (await databases()).renewEventIds(location));
  });
}

function addPrune(db: Command): void {
  withStore(db.command("prune").description("delete old finished tasks in small batches; a server may be running"))
    .addOption(ageOption("--tasks-older-than <time>", "finished tasks", true).default(30 * dayMs, "30d"))
    .addOption(new Option("--tasks-max <number>", "most finished tasks to keep, the newest").argParser(parseCount))
    .addOption(
      ageOption("--logs-older-than <time>", "logs of finished tasks, which late subscribers read", true).default(
        dayMs,
        "1d",
      ),
    )
    .addOption(ageOption("--sends-older-than <time>", "records of idempotent sends", false).default(dayMs, "1d"))
    .action(async (flags: PruneFlags, command: Command) => {
      const location = readLocation(flags, command);
      await printJson(await (await databases()).prune(location, readRetention(flags)));
    });
}

function readRetention({ tasksOlderThan, tasksMax, logsOlderThan, sendsOlderThan }: PruneFlags): Retention {
  return {
    tasksMs: tasksOlderThan === "never" ? undefined : tasksOlderThan,
    tasksMax,
    logsMs: logsOlderThan === "never" ? undefined : logsOlderThan,
    sendsMs: sendsOlderThan,
  };
}

function withStore(command: Command): Command {
  return command.addOption(
    new Option("--store <place>", "the database: a file (SQLite), or postgres://…")
      .env("TRIVIUM_STORE")
      .makeOptionMandatory(),
  );
}

function readLocation({ store }: StoreFlags, command: Command): DatabaseLocation {
  return checkUsage(command, () => databaseLocation(store));
}

function databases(): Promise<typeof import("./databases.js")> {
  return import("./databases.js");
}

function ageOption(flags: string, records: string, mayBeNever: boolean): Option {
  const never = mayBeNever ? "; never keeps them" : "";
  return new Option(flags, `${records}: 30d, 12h, 90m, 45s${never}`).argParser((text) =>
    mayBeNever && text === "never" ? "never" : parseDuration(text),
  );
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,12}$/.test(text)) return count;
  throw new InvalidArgumentError("It takes a whole number, 0 or more.");
}
