import { basename } from "node:path";

interface Exception {
  /** The file below `test/e2e`. */
  readonly file: string;
  /** Beginnings of case titles; omitted for a whole file. */
  readonly titles?: readonly string[] | undefined;
  readonly because: string;
}

/** Cases that need a single server behind the port, with the reason. Whole files are skipped. */
const exceptions: readonly Exception[] = [
  {
    file: "agents-on-one-store.test.ts",
    because: "each case starts two agents on stores of its own: memory, SQLite and PostgreSQL",
  },
  {
    file: "listing-times.test.ts",
    because: "each case brings a store of its own: memory, SQLite and PostgreSQL",
  },
  ...["sweep", "histories"].map((name) => ({
    file: `${name}.test.ts`,
    because: "each case compares two pairs of agents, each pair on a store of its own",
  })),
  {
    file: "rates.test.ts",
    because:
      "processes count failed attempts, turns and streams for themselves; test/store/postgres and test/server show windows that processes share",
  },
  {
    file: "keep-claims.test.ts",
    titles: [
      "a task keeps the claims of its caller over a restart",
      "the principal of a known token is the same object",
    ],
    because: "the case brings a store of its own, or compares objects of one process",
  },
  { file: "overload.test.ts", because: "each case starts a server of its own" },
  {
    file: "limits.test.ts",
    titles: ["the turn limit applies to each owner separately", "streams of one principal are limited"],
    because: "each process counts for itself, to guard its own memory",
  },
  {
    file: "limits.test.ts",
    titles: ["an owner whose tasks take its share of the memory store is refused, and others are served"],
    because: "the case brings a memory store, which one process has for itself",
  },
  {
    file: "secrets.test.ts",
    titles: [
      "no details leak of a failure in the maker of its extended card",
      "no details leak of a failure in its store",
    ],
    because: "the case brings a store that fails",
  },
  {
    file: "content.test.ts",
    titles: ["headers are not written to the store"],
    because: "the case reads the file of a store of its own",
  },
  {
    file: "idempotent-send.test.ts",
    titles: ["a message may be retried over any binding, and at another server of the store"],
    because: "the case starts two servers on a store of its own; the other cases retry at other servers",
  },
  {
    file: "draining.test.ts",
    titles: [
      "turns and their streams finish",
      "a turn that outlives the drain is aborted",
      "over HTTP, connections close gracefully",
    ],
    because: "all servers close at once; processes.test.ts shows readers that resume at a remaining one",
  },
  ...["random", "fields", "never-reads", "sockets"].map((name) => ({
    file: `${name}.test.ts`,
    because: "takes a minute of requests that one process refuses alone; the rest of bad-input runs",
  })),
];

/** Files that are skipped as a whole. */
export const leftOut = exceptions.filter(({ titles }) => titles === undefined).map(({ file }) => file);

/** Returns why a case uses a single server, or `undefined` if it uses several. */
export function reasonAgainst(file: string, title: string): string | undefined {
  const exception = exceptions.find(
    (each) => each.file === basename(file) && each.titles?.some((begin) => title.startsWith(begin)) === true,
  );
  return exception?.because;
}
