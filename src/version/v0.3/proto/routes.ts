import { type HttpRoute, sortRoutes } from "../../../protocol/http-routes.js";
import { findOperation, type OperationName } from "../../../protocol/operations.js";

// The routes of HTTP+JSON up to 0.3. The schema writes them as resource names, misspells one path, and uses other verbs
// than the specification's text. So they are listed here in the form that peers use.

type Row = readonly [call: string, operation: OperationName, hasBody?: "body"];

const config = "/tasks/{taskId}/pushNotificationConfigs";

/** In order of preference: clients use the first route of an operation. */
const rows: readonly Row[] = [
  ["POST /message:send", "sendMessage", "body"],
  ["POST /message:stream", "sendStreamingMessage", "body"],
  ["GET /tasks/{taskId}", "getTask"],
  ["POST /tasks/{taskId}:cancel", "cancelTask", "body"],
  ["GET /tasks/{taskId}:subscribe", "subscribeToTask"],
  ["POST /tasks/{taskId}:subscribe", "subscribeToTask", "body"],
  [`POST ${config}`, "createTaskPushNotificationConfig", "body"],
  [`GET ${config}/{configId}`, "getTaskPushNotificationConfig"],
  [`GET ${config}`, "listTaskPushNotificationConfigs"],
  [`DELETE ${config}/{configId}`, "deleteTaskPushNotificationConfig"],
];

const card: OperationName = "getExtendedAgentCard";

/** The routes of 0.3. */
export const routes = createRoutes([...rows, ["GET /card", card]], "/v1");

/** The routes without `/v1`, which one SDK uses for agents of 0.3. The card has the path of 1.0. */
export const plainRoutes = createRoutes([...rows, ["GET /extendedAgentCard", card]], "");

function createRoutes(table: readonly Row[], prefix: string): readonly HttpRoute[] {
  return sortRoutes(table.map((row) => createRoute(row, prefix)));
}

function createRoute([call, operation, hasBody]: Row, prefix: string): HttpRoute {
  const [verb = "", path = ""] = call.split(" ");
  const [, pathPart = "", suffix = ""] = /^\/(.*?)(:[^/{}]+)?$/.exec(prefix + path) ?? [];
  return {
    verb: verb as HttpRoute["verb"],
    segments: pathPart.split("/").map(readSegment),
    suffix,
    operation: findOperation(operation),
    hasBody: hasBody === "body",
  };
}

function readSegment(text: string): HttpRoute["segments"][number] {
  const [, field] = /^\{(\w+)\}$/.exec(text) ?? [];
  return field === undefined ? { literal: text } : { field };
}
