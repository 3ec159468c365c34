import { describe, expect, it } from "vitest";
import { httpRoutes } from "../../src/protocol/http-routes.js";
import { operations } from "../../src/protocol/operations.js";
import type { HttpRoute } from "../../src/version/codec.js";
import { v1 } from "../../src/version/v1.0/v1.js";
import { matchRoute } from "../support/match-route.js";

const served = v1.httpJson?.routes ?? [];

it("the table of HTTP routes has the routes of the service", () => {
  const untenanted = httpRoutes(operations).filter((route) => !lineOf(route).includes("{tenant}"));
  expect(untenanted.map(lineOf).toSorted()).toEqual([
    "DELETE /tasks/{taskId}/pushNotificationConfigs/{id} deleteTaskPushNotificationConfig",
    "GET /extendedAgentCard getExtendedAgentCard",
    "GET /tasks listTasks",
    "GET /tasks/{id} getTask",
    "GET /tasks/{id}:subscribe subscribeToTask",
    "GET /tasks/{taskId}/pushNotificationConfigs listTaskPushNotificationConfigs",
    "GET /tasks/{taskId}/pushNotificationConfigs/{id} getTaskPushNotificationConfig",
    "POST /message:send sendMessage body",
    "POST /message:stream sendStreamingMessage body",
    "POST /tasks/{id}:cancel cancelTask body",
    "POST /tasks/{taskId}/pushNotificationConfigs createTaskPushNotificationConfig body",
  ]);
});

it("the table of HTTP routes has each route with a tenant too, after all routes without", () => {
  const isTenanted = served.map((route) => lineOf(route).includes("{tenant}"));
  expect(isTenanted).toEqual([...isTenanted].sort());
  expect(isTenanted.filter(Boolean)).toHaveLength(isTenanted.length / 2);
});

it.each(operations.map(({ name }) => name))("a client is offered the untenanted route of the schema for %s", (name) => {
  const first = served.find(({ operation }) => operation.name === name);
  const rule = httpRoutes(operations).find(({ operation }) => operation.name === name);
  expect(first).toEqual(rule);
  expect(first && lineOf(first)).not.toContain("{tenant}");
});

describe("a call is matched", () => {
  it.each([
    ["GET /tasks/a:subscribe", "subscribeToTask", { id: "a" }],
    ["POST /tasks/a:subscribe", "subscribeToTask", { id: "a" }],
    ["GET /tasks/a:b", "getTask", { id: "a:b" }],
    ["GET /tasks/tasks", "getTask", { id: "tasks" }],
    ["GET /north/tasks", "listTasks", { tenant: "north" }],
    ["POST /north/tasks/a:cancel", "cancelTask", { tenant: "north", id: "a" }],
    ["GET /a%2Fb/tasks/t%3Ax", "getTask", { tenant: "a/b", id: "t:x" }],
    ["POST /north/message:stream", "sendStreamingMessage", { tenant: "north" }],
    [
      "DELETE /n/tasks/t/pushNotificationConfigs/p",
      "deleteTaskPushNotificationConfig",
      { tenant: "n", taskId: "t", id: "p" },
    ],
  ])("the call %s is matched to %s %j", (call, name, fields) => {
    const matched = matchRoute(served, call);
    expect(matched.operation.name).toBe(name);
    expect(matched.fields).toEqual(fields);
  });
});

function lineOf({ verb, segments, suffix, operation, hasBody }: HttpRoute): string {
  const path = segments.map((segment) => ("field" in segment ? `{${segment.field}}` : segment.literal)).join("/");
  return `${verb} /${path}${suffix} ${operation.name}${hasBody ? " body" : ""}`;
}
