import { type Build, buildInUse } from "../builds.ts";
import { runProgram } from "../child.ts";
import { type FileServer, startOnFile, temporaryFolder } from "../files.ts";
import { type Connection, openConnection } from "../load/connection.ts";
import { post, requestText } from "../load/http.ts";
import type { Effort, Probe, Row } from "../row.ts";
import { failedEach, longContextEach, type SeededSide, type SeededTasks, seededBy } from "../seeded.ts";
import { assertReply, jsonRpcCall, jsonRpcResult, type PayloadJson, sendParams } from "../wire.ts";

const pageSize = 100;
/** What a page may cost wherever it lies, as a multiple of the newest ones: flat, with room for noise. */
const flat = 1.5;
const pagesFirst = "newest pages";

/** A walk: its filter, what it must find, and where it begins. */
interface Walk {
  readonly name: string;
  readonly filter: (tasksFile: SeededTasks) => object;
  readonly total: (count: number) => number;
  /** Begins where so many pages are left, instead of at the newest task. */
  readonly oldest?: true;
}

const walks: readonly Walk[] = [
  { name: pagesFirst, filter: () => ({}), total: (count) => count },
  { name: "oldest pages", filter: () => ({}), total: (count) => count, oldest: true },
  {
    name: "state of 99 in 100",
    filter: () => ({ status: "TASK_STATE_COMPLETED" }),
    total: (count) => count - count / failedEach,
  },
  {
    name: "state of 1 in 100",
    filter: () => ({ status: "TASK_STATE_FAILED" }),
    total: (count) => count / failedEach,
  },
  {
    name: "context of 1 in 100",
    filter: ({ longContext }) => ({ contextId: longContext }),
    total: (count) => count / longContextEach,
  },
  {
    name: "context and state",
    filter: ({ longContext }) => ({ contextId: longContext, status: "TASK_STATE_COMPLETED" }),
    total: (count) => count / longContextEach,
  },
  {
    name: "since, newest 1 in 100",
    filter: ({ timeOf, count }) => ({ statusTimestampAfter: timeOf(count - count / 100) }),
    total: (count) => count / 100,
  },
  {
    name: "since, newest half",
    filter: ({ timeOf, count }) => ({ statusTimestampAfter: timeOf(count / 2) }),
    total: (count) => count / 2,
  },
  {
    name: "state, since the newest half",
    filter: ({ timeOf, count }) => ({
      status: "TASK_STATE_COMPLETED",
      statusTimestampAfter: timeOf(count / 2),
    }),
    total: (count) => count / 2 - count / 2 / failedEach,
  },
];

/** Lists and starts on a file of SQLite with a million tasks, which a script seeds; 100,000 in a quick run. */
export function millionRows(effort: Effort): readonly Row[] {
  const count = effort.quick ? 100_000 : 1_000_000;
  const files = { ours: seededFile("ours", count), peer: seededFile("peer", count) };
  const pages = effort.quick ? 200 : 500;
  return [...walks.map((walk) => walkRow(walk, { count, files, pages })), ...startRows(count, files)];
}

type Files = Readonly<Record<SeededSide, () => Promise<SeededFile>>>;

interface Million {
  readonly count: number;
  readonly files: Files;
  /** Pages of one measurement. */
  readonly pages: number;
}

interface SeededFile extends SeededTasks {
  readonly file: string;
}

/** Seeds at the first use, for each build by its own seeder, since their tables may differ; the file goes with the process. */
function seededFile(side: SeededSide, count: number): () => Promise<SeededFile> {
  const filesByBuild = new Map<Build, Promise<SeededFile>>();
  const make = async (): Promise<SeededFile> => {
    const folder = temporaryFolder();
    process.once("exit", () => folder[Symbol.dispose]());
    const file = `${folder.path}/tasks.db`;
    await runProgram("seed.ts", [side, file, String(count)]);
    await using server = await startOnFile(side, file);
    return { file, ...(await seededBy(server, count)) };
  };
  return () => {
    const build = buildInUse();
    const file = filesByBuild.get(build) ?? make();
    filesByBuild.set(build, file);
    return file;
  };
}

function walkRow(walk: Walk, million: Million): Row {
  const { count } = million;
  const isFirst = walk.name === pagesFirst;
  return {
    name: walkName(walk.name, count),
    unit: "ms",
    what: `99th percentile of the time of a page of ${pageSize} over JSON-RPC, one after another on one connection`,
    budgets: [
      { of: "unit", atMost: 10 },
      ...(isFirst ? [] : [{ of: "row" as const, row: walkName(pagesFirst, count), atMost: flat }]),
    ],
    start: {
      ours: () => walkProbe("ours", walk, million),
      ...(isFirst ? { peer: () => walkProbe("peer", walk, { ...million, pages: 50 }) } : {}),
    },
    maxRounds: { ours: walk.oldest ? 1 : 3, peer: 1 },
  };
}

function walkName(name: string, count: number): string {
  return `SQLite: ListTasks of ${count.toLocaleString("en")}, ${name}`;
}

async function walkProbe(side: SeededSide, walk: Walk, { count, files, pages }: Million): Promise<Probe> {
  const tasksFile = await files[side]();
  await using opening = new AsyncDisposableStack();
  const server = opening.use(await startOnFile(side, tasksFile.file));
  const connection = opening.use(openConnection(server.http));
  const total = walk.total(count);
  const walker = createWalker(connection, walk.filter(tasksFile), total);
  if (walk.oldest) await walker.skip(total / pageSize - pages);
  // The code is compiled in the first few hundred.
  else await walker.skip(pages);
  const resources = opening.move();
  return {
    measure: async () => percentile(await walker.times(pages), 0.99),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

interface PageJson {
  readonly tasks: readonly { readonly id: string }[];
  readonly nextPageToken: string;
  readonly totalSize: number;
}

/** Walks from page to page, and from the last to the first again; every page is checked. */
function createWalker(connection: Connection, filter: object, total: number) {
  let page = 0;
  let pageToken = "";
  let lastId = "";
  const nextPage = async (): Promise<number> => {
    const request = { pageSize, historyLength: 0, includeArtifacts: false, ...filter };
    const call = jsonRpcCall("ListTasks", () => (pageToken === "" ? request : { ...request, pageToken }));
    const began = performance.now();
    const { status, body } = await connection.exchange(requestText(call, page));
    const ms = performance.now() - began;
    if (status !== 200) throw new Error(`HTTP ${status}: ${body.slice(0, 200)}`);
    const { tasks, nextPageToken, totalSize } = jsonRpcResult<PageJson>(body, page);
    page += 1;
    const isLast = page * pageSize >= total;
    const expectedCount = isLast ? total - (page - 1) * pageSize : pageSize;
    if (totalSize !== total) throw new Error(`a total of ${totalSize} instead of ${total}`);
    if (tasks.length !== expectedCount || tasks[0]?.id === lastId) throw new Error(`page ${page} is wrong`);
    if ((nextPageToken === "") !== isLast) throw new Error(`the walk does not end at page ${page}`);
    lastId = tasks.at(-1)?.id ?? "";
    pageToken = nextPageToken;
    if (isLast) page = 0;
    return ms;
  };
  return {
    async skip(pages: number): Promise<void> {
      for (let pagesRead = 0; pagesRead < pages; pagesRead++) await nextPage();
    },
    async times(pages: number): Promise<readonly number[]> {
      const all: number[] = [];
      for (let pagesRead = 0; pagesRead < pages; pagesRead++) all.push(await nextPage());
      return all;
    },
  };
}

function percentile(values: readonly number[], part: number): number {
  const sortedValues = values.toSorted((a, b) => a - b);
  return sortedValues[Math.min(sortedValues.length - 1, Math.ceil(sortedValues.length * part) - 1)] ?? Number.NaN;
}

function startRows(count: number, files: Files): readonly Row[] {
  const what = "from the fork to the first answer; floor: an empty file";
  return [
    startRow(`SQLite: start with ${count.toLocaleString("en")} tasks, CPU time`, what, files, async (start) => {
      await using server = await start();
      await firstAnswer(server);
      return (await server.ask("cpu")) / 1000;
    }),
    startRow(`SQLite: start with ${count.toLocaleString("en")} tasks, wall clock`, what, files, async (start) => {
      const before = performance.now();
      await using server = await start();
      await firstAnswer(server);
      return performance.now() - before;
    }),
  ];
}

type Measure = (start: () => Promise<FileServer>) => Promise<number>;

function startRow(name: string, what: string, files: Files, measure: Measure): Row {
  const probe = (run: () => Promise<number>): Probe => ({
    measure: run,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
  const onFile = (side: SeededSide) => async () => {
    const { file } = await files[side]();
    return probe(() => measure(() => startOnFile(side, file)));
  };
  const floor = () => Promise.resolve(probe(() => measure(() => startOnFile("ours"))));
  return {
    name,
    unit: "ms",
    what,
    budgets: [{ of: "floor", atMost: 1.25 }],
    start: { floor, ours: onFile("ours"), peer: onFile("peer") },
  };
}

const message = jsonRpcCall("SendMessage", (n) => sendParams("message", n));

async function firstAnswer({ http: port }: FileServer): Promise<void> {
  assertReply(jsonRpcResult<PayloadJson>(await post(port, message, 1), 1));
}
