import { artifact, inputRequired } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpAnswer, type HttpLine, httpLine, httpOutcome, json } from "../../support/raw-http.js";
import { expectNoInternals } from "../../support/raw-wire.js";
import { say, taskOf } from "../../support/say.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// Paths, queries and headers that try to be misread.

let served: ServedAgent;
let line: HttpLine;
let taskId = "";

beforeAll(async () => {
  served = await startAgent("HTTP+JSON", {
    versions: ["1.0"],
    allowedHosts: ["evil.example"],
    async *agent() {
      yield artifact("kept");
      yield inputRequired("more?");
    },
  });
  line = httpLine(served.server.port);
  taskId = taskOf(await served.client.sendMessage(say("hello"), {})).id;
});

afterAll(async () => {
  line[Symbol.dispose]();
  await served[Symbol.asyncDispose]();
});

const get = (target: string, headers: Record<string, string | string[]> = {}): Promise<HttpAnswer> =>
  line.ask({ method: "GET", target, headers });

async function expectServes(): Promise<void> {
  expect((await get(`/http-json/tasks/${taskId}`)).status).toBe(200);
}

describe("a path of HTTP+JSON", () => {
  it.each([
    "/http-json",
    "/http-json/",
    "/http-json//tasks",
    "/http-json/tasks//",
    "/http-json/./tasks",
    "/http-json/x/../tasks",
    "/http-json/../json-rpc",
    "/http-json/..%2f..%2fetc/passwd",
    "/http-json/tasks/../../.well-known/agent-card.json",
    "/http-json%2ftasks",
    "/http-json/tasks/..",
    "/http-json/tasks/%2e%2e",
    "/http-json/tasks/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/http-json/tasks/..%5c..%5cwindows",
    "/http-json/tasks/%00",
    "/http-json/tasks/a%0d%0aSet-Cookie:%20b",
    "/http-json/tasks/x:cancel:cancel",
    "/http-json/tasks/x:subscribe",
    "/http-json/tasks/x%3Acancel",
    "/http-json/tasks/x;a=b",
    "/http-json/tasks/__proto__",
    "/http-json/tasks/constructor",
    "/http-json/__proto__/tasks",
    "/http-json/tasks/undefined/pushNotificationConfigs/__proto__",
    `/http-json/${"a/".repeat(500)}`,
    `/http-json/tasks/${"x".repeat(8_000)}`,
  ])("the path %s of HTTP+JSON is answered as the caller's error", async (target) => {
    const answer = await get(target);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expectNoInternals(answer.text);
    if (target.startsWith("/http-json/")) expect(httpOutcome(answer).error).toBeDefined();
    await expectServes();
  });

  it.each(["%", "%zz", "%c0%af", "%ff", "%ed%a0%80", "%u0041"])(
    "a path of HTTP+JSON with the malformed escape %s is refused",
    async (malformed) => {
      for (const target of [`/http-json/tasks/a${malformed}`, `/http-json/tasks?contextId=a${malformed}`]) {
        expect(httpOutcome(await get(target)).error?.code).toBe("invalidRequest");
      }
      await expectServes();
    },
  );

  it("an id with every kind of escape is decoded", async () => {
    const escaped = [...taskId].map((payload) => `%${payload.charCodeAt(0).toString(16)}`).join("");
    expect(JSON.parse((await get(`/http-json/tasks/${escaped}`)).text)).toMatchObject({ id: taskId });
    expect(httpOutcome(await get(`/http-json/tasks/${escaped.replaceAll("%", "%25")}`)).error?.code).toBe(
      "taskNotFound",
    );
  });
});

describe("a query", () => {
  it.each([
    ["a parameter given twice", "pageSize=1&pageSize=2", "pageSize"],
    ["a parameter given twice alike", "contextId=a&contextId=a", "contextId"],
    ["a number that is text", "pageSize=ten", "pageSize"],
    ["an empty number", "pageSize=", "pageSize"],
    ["a word that is none", "status=DONE", "status"],
    ["a truth that is none", "includeArtifacts=1", "includeArtifacts"],
    ["a time that is none", "statusTimestampAfter=now", "statusTimestampAfter"],
  ])("a query with %s is refused with the parameter named", async (_, query, field) => {
    const { error } = httpOutcome(await get(`/http-json/tasks?${query}`));
    expect([error?.code, error?.violations.map((violation) => violation.field)]).toEqual(["invalidParams", [field]]);
  });

  it.each(["", "&", "&&&", "=", "=a", "a", "nope=1", "__proto__=1", "constructor=1", "__proto__[x]=1", "%41=1"])(
    "the query ?%s is ignored",
    async (query) => {
      const answer = await get(`/http-json/tasks?${query}`);
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([200, { totalSize: 1 }]);
      expect("x" in {}).toBe(false);
    },
  );

  it("a query that names another task than the path is refused", async () => {
    const { error } = httpOutcome(await get(`/http-json/tasks/${taskId}?id=other`));
    expect(error?.violations).toMatchObject([{ field: "id" }]);
  });

  it("a query that names another task than the path is refused in a body too", async () => {
    const target = `/http-json/tasks/${taskId}:cancel`;
    for (const body of ['{"id":"other"}', `{"id":["${taskId}"]}`, `{"id":{"a":1}}`]) {
      const { error } = httpOutcome(await line.ask({ target, headers: json, body }));
      expect(error?.violations).toMatchObject([{ field: "id" }]);
    }
  });
});

describe("headers", () => {
  it("headers of an extension with line breaks or commas activate nothing", async () => {
    for (const value of ["a,b,,c", ",", "x".repeat(4_000), "urn:a\tb"]) {
      const answer = await get("/http-json/tasks", { "A2A-Extensions": value });
      expect([answer.status, answer.headers["a2a-extensions"]]).toEqual([200, undefined]);
    }
  });

  it.each(["0", "2.0", "1", "one", "1.0.0.0", "1.0;x", "-1.0", "1.0\t2.0", "9".repeat(1_000)])(
    "the header A2A-Version: %s is refused in a well-formed way",
    async (version) => {
      const answer = await get("/http-json/tasks", { "A2A-Version": version });
      expect(httpOutcome(answer).error?.code).toBe("versionNotSupported");
      expect(answer.text.length).toBeLessThan(1_000);
    },
  );

  it.each(["garbage", "..", `${"a".repeat(8_000)}`, "x.y.z", "0.0.-1", "\t"])(
    "the header Last-Event-ID: %s is no error",
    async (id) => {
      const body = JSON.stringify(
        JSON.parse('{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}}'),
      );
      const headers = { ...json, "Last-Event-ID": id };
      const answer = await line.ask({ target: "/http-json/message:stream", headers, body });
      expect([answer.status, answer.headers["content-type"]]).toEqual([200, "text/event-stream"]);
    },
  );

  it("a request with an unknown Accept still gets JSON", async () => {
    for (const accept of ["text/html", "*/*;q=0", ",,,", "application/", "a".repeat(4_000)]) {
      expect((await get("/http-json/tasks", { Accept: accept })).headers["content-type"]).toMatch(/json/);
    }
  });

  it("a request with headers by the thousand is refused before any work starts", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, index) => [`x-${index}`, "yyyyyyyyyy"]));
    expect((await get("/http-json/tasks", many)).status).toBe(431);
    await expectServes();
  });

  it.each(["evil.example", "evil.example:99999", "a@b", "[::1", "x".repeat(2_000), "a/b?c#d"])(
    "the header Host: %s does not break the card",
    async (host) => {
      const answer = await get("/.well-known/agent-card.json", { Host: host });
      expect(answer.status).toBeLessThan(500);
      expectNoInternals(answer.text);
    },
  );
});
