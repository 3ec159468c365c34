import { type Command, InvalidArgumentError, Option } from "commander";
import type { Retention } from "../store/sql/rows.js";
import { understood } from "./caller.js";
import { durationMs } from "./duration.js";
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

const day = 86_400_000;

/** `trivium db`. Database code is loaded only when needed. */
export function dbCommand(db: Command): void {
  db.helpCommand(false);
  withStore(db.command("status").description("print which schema a database has, as JSON")).action(
    async (flags: StoreFlags, command: Command) => {
      const location = locationOf(flags, command);
      await printJson(await (await databases()).status(location));
    },
  );
  withStore(db.command("migrate").description("bring the schema of a database up to date, or make it")).action(
    async (flags: StoreFlags, command: Command) => {
      const location = locationOf(flags, command);
      await printJson(await (await databases()).migrate(location, printNote));
    },
  );
  db.command("sql")
    .description("print the SQL that creates the schema, to run it by hand")
    .addOption(new Option("--dialect <dialect>", "whose SQL").choices(["sqlite", "postgres"]).makeOptionMandatory())
    .addOption(
      new Option("--from <version>", "the schema that is there already").default(0, "none").argParser(parseCount),
    )
    .action(async ({ dialect, from }: SqlFlags) => {
      const text = await (await databases()).sql(dialect, from);
      if (text !== "") await print(text.trimEnd());
    });
  addPrune(db);
  const afterwards = "run it once after putting a database back to an earlier state, before a server starts on it";
  withStore(db.command("restored").description(afterwards)).action(async (flags: StoreFlags, command: Command) => {
    const location = locationOf(flags, command);
    await printJson(await (await databases()).restored(location));
  });
}

function addPrune(db: Command): void {
  withStore(db.command("prune").description("drop what is finished and old, in small batches; a server may be running"))
    .addOption(age("--tasks-older-than <time>", "finished tasks", true).default(30 * day, "30d"))
    .addOption(
      new Option("--tasks-max <number>", "keep no more finished tasks than this, the newest").argParser(parseCount),
    )
    .addOption(
      age("--logs-older-than <time>", "logs of finished tasks, which late subscribers read", true).default(day, "1d"),
    )
    .addOption(age("--sends-older-than <time>", "records of idempotent sends", false).default(day, "1d"))
    .action(async (flags: PruneFlags, command: Command) => {
      const location = locationOf(flags, command);
      await printJson(await (await databases()).prune(location, retentionOf(flags)));
    });
}

function retentionOf({ tasksOlderThan, tasksMax, logsOlderThan, sendsOlderThan }: PruneFlags): Retention {
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

function locationOf({ store }: StoreFlags, command: Command): DatabaseLocation {
  return understood(command, () => databaseLocation(store));
}

function databases(): Promise<typeof import("./db/databases.js")> {
  return import("./db/databases.js");
}

function age(flags: string, what: string, mayBeNever: boolean): Option {
  const never = mayBeNever ? "; never keeps them" : "";
  return new Option(flags, `${what}: 30d, 12h, 90m, 45s${never}`).argParser((text) => {
    if (mayBeNever && text === "never") return "never";
    const ms = durationMs(text);
    if (ms !== undefined) return ms;
    throw new InvalidArgumentError("A time is a whole number with its unit: 30d, 12h, 90m, 45s.");
  });
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d{1,12}$/.test(text)) return count;
  throw new InvalidArgumentError("It is a whole number from 0 on.");
}
