import { basename } from "node:path";

interface Exception {
  /** The file below test/e2e. */
  readonly file: string;
  /** How the titles of its cases begin; left out for a whole file. */
  readonly titles?: readonly string[] | undefined;
  readonly because: string;
}

/** Cases that make no sense with several servers behind one port, and why: they have one. Whole files are left out. */
const exceptions: readonly Exception[] = [
  {
    file: "agents-on-one-store.test.ts",
    because: "each case starts two agents on stores of its own: memory, SQLite and PostgreSQL",
  },
  {
    file: "listing-times.test.ts",
    because: "each case brings a store of its own: memory, SQLite and PostgreSQL",
  },
  { file: "overload.test.ts", because: "each case starts a server of its own" },
  {
    file: "limits.test.ts",
    titles: ["turns of one owner are limited", "streams of one principal are limited"],
    because: "each process counts for itself, to guard its own memory",
  },
  {
    file: "secrets.test.ts",
    titles: ["the maker of its extended card", "its store"],
    because: "the case brings a store that fails",
  },
  {
    file: "idempotent-send.test.ts",
    titles: ["a message may come again over every other binding, and at another server of the store"],
    because: "the case starts two servers on a store of its own; the other cases come again at other servers",
  },
  {
    file: "draining.test.ts",
    titles: [
      "turns and their streams end in peace",
      "a turn that outlives the drain is told",
      "over HTTP connections are told to go",
    ],
    because: "all servers close at once, and whoever follows a task goes to one that stays: see processes.test.ts",
  },
  ...["random", "fields", "never-reads", "sockets"].map((name) => ({
    file: `${name}.test.ts`,
    because: "takes a minute of requests that one process refuses by itself; the rest of bad-input is run",
  })),
];

/** Files of which nothing is run. */
export const leftOut = exceptions.filter(({ titles }) => titles === undefined).map(({ file }) => file);

/** Why a case has one server alone; `undefined` when it has several. */
export function reasonAgainst(file: string, title: string): string | undefined {
  const found = exceptions.find(
    (each) => each.file === basename(file) && each.titles?.some((begin) => title.startsWith(begin)) === true,
  );
  return found?.because;
}
