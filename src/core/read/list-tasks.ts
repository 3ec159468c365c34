import { createHash } from "node:crypto";
import type { Scope } from "../../protocol/context.js";
import { invalidParams } from "../../protocol/errors.js";
import { type ListTasksRequest, type ListTasksResponse, TaskState, typeNames } from "../../protocol/model.js";
import type { ListQuery } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { foldStored } from "../task/fold.js";

const defaultPageSize = 50;

/**
 * ListTasks (spec 3.1.4): newest status first, then the newer task. A cursor is opaque and valid only for the caller
 * and the filters it was created with. A task that changes while being paged moves to the front.
 */
export async function listTasks(runtime: Runtime, request: ListTasksRequest, scope: Scope): Promise<ListTasksResponse> {
  const pageSize = request.pageSize ?? defaultPageSize;
  const filters = readFilters(request);
  const list: List = { scope, filters };
  const after =
    request.pageToken === "" ? undefined : await findPlace(runtime, readCursor(request.pageToken, list), scope);
  const options = { historyLength: request.historyLength ?? 0, artifacts: request.includeArtifacts === true };
  const page = await runtime.store.list(scope, {
    ...filters,
    limit: pageSize,
    maxBytes: runtime.limits.pageMaxBytes,
    summaries: options.historyLength === 0 && !options.artifacts,
    after,
  });
  const last = page.tasks.at(-1);
  return {
    $typeName: typeNames.ListTasksResponse,
    tasks: page.tasks.map((task) => foldStored(task, options)),
    nextPageToken: page.more && last !== undefined ? writeCursor(last.head, list) : "",
    pageSize,
    totalSize: page.total,
  };
}

type Filters = Pick<ListQuery, "contextId" | "state" | "since">;

/** The list that a cursor belongs to. */
interface List {
  readonly scope: Scope;
  readonly filters: Filters;
}

function readFilters(request: ListTasksRequest): Filters {
  const since = request.statusTimestampAfter;
  return {
    contextId: request.contextId === "" ? undefined : request.contextId,
    state: request.status === TaskState.UNSPECIFIED ? undefined : request.status,
    // Status times are whole milliseconds, so rounding the given time up gives the same filter.
    since: since === undefined ? undefined : Number(since.seconds) * 1000 + Math.ceil(since.nanos / 1e6),
  };
}

/** The last task of a page, as its caller knows it. The store's sort key would tell the number of everybody's tasks. */
interface Cursor {
  readonly statusTime: number;
  readonly id: string;
}

/** The highest key that a store gives a task. */
const lastKey = Number.MAX_SAFE_INTEGER;

/** Finds the start of a page. If the last task is gone, its time remains: tasks of the same millisecond are listed again. */
async function findPlace(
  { store }: Runtime,
  { statusTime, id }: Cursor,
  scope: Scope,
): Promise<NonNullable<ListQuery["after"]>> {
  return { statusTime, key: (await store.head(scope, id))?.key ?? lastKey };
}

// Every process on the store reads the cursors of the others, so they are not signed with a secret. The digests detect a
// cursor that was changed, or that belongs to another caller or list. A forged cursor with right digests only selects
// another place in the caller's own list.
function writeCursor({ statusTime, id }: Cursor, { scope, filters }: List): string {
  const content = JSON.stringify([statusTime, id, digest(filters)]);
  return encode(JSON.stringify([content, digest([content, scope])]));
}

function readCursor(token: string, { scope, filters }: List): Cursor {
  const [content, check] = parseList(decode(token));
  const [statusTime, id, filterDigest] = typeof content === "string" ? parseList(content) : [];
  const isWhole = typeof statusTime === "number" && typeof id === "string" && check === digest([content, scope]);
  if (!isWhole) throw invalidParams({ field: "pageToken", description: "was not issued by this agent" });
  if (filterDigest === digest(filters)) return { statusTime, id };
  throw invalidParams({ field: "pageToken", description: "belongs to a list with other filters" });
}

const encode = (text: string): string => Buffer.from(text).toString("base64url");

// Several texts decode to the same bytes, since Node ignores invalid characters.
function decode(token: string): string {
  const text = Buffer.from(token, "base64url").toString();
  return encode(text) === token ? text : "";
}

function parseList(json: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 16);
}
