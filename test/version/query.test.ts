import { describe, expect, it } from "vitest";
import { AgentSkillSchema, ListTasksRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { readJson } from "../../src/protocol/codec/json/reader.js";
import { A2AError } from "../../src/protocol/errors.js";
import { findOperation } from "../../src/protocol/operations.js";
import { queryFromJson, queryToJson } from "../../src/version/query.js";
import { v1 } from "../../src/version/v1.0/v1.js";

const read = (query: string) =>
  readJson(ListTasksRequestSchema, queryToJson(ListTasksRequestSchema, new URLSearchParams(query)));

it("a query is read with every kind of parameter, and unknown ones are ignored", () => {
  const { message, violations } = read(
    "contextId=c%20%2B1&status=TASK_STATE_WORKING&pageSize=2&includeArtifacts=true&historyLength=0&statusTimestampAfter=2026-05-01T00%3A00%3A00.000Z&A2A-Version=1.0&x=1",
  );
  expect(violations).toEqual([]);
  expect(message).toMatchObject({
    contextId: "c +1",
    status: 2,
    pageSize: 2,
    includeArtifacts: true,
    historyLength: 0,
    statusTimestampAfter: { seconds: 1777593600n, nanos: 0 },
  });
});

it.each(["tags=a&tags=b", "tags=a,b"])("a query is read with the list %s", (query) => {
  expect(queryToJson(AgentSkillSchema, new URLSearchParams(query))).toEqual({ tags: ["a", "b"] });
});

describe("a bad parameter", () => {
  it.each([
    ["pageSize=2&pageSize=3", "pageSize", "must be an integer, not an array"],
    ["contextId=a&contextId=b", "contextId", "must be a string, not an array"],
    ["pageSize=many", "pageSize", "must be an integer of 32 bits"],
    ["includeArtifacts=yes", "includeArtifacts", "must be true or false, not a string"],
    ["statusTimestampAfter=1", "statusTimestampAfter", "must be an ISO 8601 time such as 2026-03-04T05:06:07.000Z"],
  ])("a bad parameter is named: %s", (query, field, description) => {
    expect(read(query).violations).toEqual([{ field, description }]);
  });

  it("a bad parameter is named together with the others (E-26)", () => {
    const adapter = v1.httpJson;
    const json = adapter?.readQuery(
      findOperation("listTasks"),
      new URLSearchParams("pageSize=0&status=TASK_STATE_RUNNING"),
    );
    const violationsOf = (error: unknown) =>
      error instanceof A2AError ? error.violations.map(({ field }) => field) : [];
    try {
      adapter?.codec(findOperation("listTasks")).readRequest(json);
      expect.unreachable();
    } catch (error) {
      expect(violationsOf(error).toSorted()).toEqual(["pageSize", "status"]);
    }
  });
});

it("a query is written with parameters that are read back", () => {
  const json = { contextId: "a&b=ü", status: "TASK_STATE_FAILED", pageSize: 7, includeArtifacts: false, tenant: "" };
  expect(queryToJson(ListTasksRequestSchema, new URLSearchParams(queryFromJson(json).toString()))).toEqual({
    ...json,
    pageSize: "7",
  });
});

it("a query has no form for an object", () => {
  expect(() => queryFromJson({ metadata: {} })).toThrow(TypeError);
});
