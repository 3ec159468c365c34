import type { Scope } from "../../protocol/context.js";
import { invalidParams } from "../../protocol/errors.js";
import { type ListTasksRequest, type ListTasksResponse, TaskState } from "../../protocol/model.js";
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
  const filters = filtersOf(request);
  const filterDigest = digest(
    JSON.stringify([scope.agent, scope.tenant, scope.owner, filters.contextId, filters.state, filters.since]),
  );
  const after = request.pageToken === "" ? undefined : readCursor(request.pageToken, filterDigest);
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
    $typeName: "lf.a2a.v1.ListTasksResponse",
    tasks: page.tasks.map((task) => foldStored(task, options)),
    nextPageToken: page.more && last !== undefined ? writeCursor(last.head, filterDigest) : "",
    pageSize,
    totalSize: page.total,
  };
}

function filtersOf(request: ListTasksRequest): Pick<ListQuery, "contextId" | "state" | "since"> {
  const since = request.statusTimestampAfter;
  return {
    contextId: request.contextId === "" ? undefined : request.contextId,
    state: request.status === TaskState.UNSPECIFIED ? undefined : request.status,
    // Status times are whole milliseconds, so rounding the given time up gives the same filter.
    since: since === undefined ? undefined : Number(since.seconds) * 1000 + Math.ceil(since.nanos / 1e6),
  };
}

function writeCursor(
  { statusTime, key }: { readonly statusTime: number; readonly key: number },
  filterDigest: string,
): string {
  return btoa(`${statusTime}:${key}:${filterDigest}`).replaceAll("=", "");
}

function readCursor(token: string, filterDigest: string): { readonly statusTime: number; readonly key: number } {
  const match = /^(\d{1,16}(?:\.\d+)?):(\d{1,16}):([0-9a-z]+)$/.exec(decode(token));
  if (match === null) throw invalidParams({ field: "pageToken", description: "was not issued by this agent" });
  if (match[3] !== filterDigest) {
    throw invalidParams({ field: "pageToken", description: "belongs to a list with other filters" });
  }
  return { statusTime: Number(match[1]), key: Number(match[2]) };
}

function decode(token: string): string {
  try {
    return atob(token);
  } catch {
    return "";
  }
}

// Not a secret: a forged cursor only selects another position in the caller's own list.
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n);
  }
  return hash.toString(36);
}
