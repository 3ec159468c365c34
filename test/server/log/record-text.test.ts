import { describe, expect, it } from "vitest";
import { createLogger, logLevels, outputForm } from "../../../src/server/log/stderr-logger.js";

const levels = ["debug", "info", "warn", "error"] as const;

function logger({ colors = false, isTerminal = true } = {}, least: (typeof logLevels)[number] = "debug") {
  let written = "";
  const write = (text: string): void => {
    written += text;
  };
  return { log: createLogger(least, { write, isTerminal, colors }), written: () => written };
}

function jsonOf(fields: object, message = "said"): Record<string, unknown> {
  const { log, written } = logger({ isTerminal: false });
  log.info(fields, message);
  return JSON.parse(written());
}

/** An error whose stack does not depend on where the test runs. */
function errorAt(error: Error, ...frames: string[]): Error {
  error.stack = [`${error.constructor.name}: ${error.message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");
  return error;
}

describe("a record on a terminal", () => {
  it("a record on a terminal is one line with the time, the level, the message and the fields", () => {
    const { log, written } = logger();
    log.warn({ taskId: "t-1", hosts: ["a", "b"], reason: "not now", hint: { seq: 1 }, left: undefined }, "it waits");
    expect(written()).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} WARN {2}it waits taskId=t-1 hosts=a,b reason="not now" hint=\{"seq":1\}\n$/,
    );
  });

  it("a record on a terminal shows the stack of an error with its causes, and frames that both have only once", () => {
    const { log, written } = logger();
    const both = errorAt(new AggregateError([errorAt(new Error("one"), "c", "y", "z"), "two"], "both"), "b", "y", "z");
    const outer = errorAt(new TypeError("outer", { cause: both }), "a", "y", "z");
    log.error({ reference: "r", err: Object.assign(outer, { code: "E_OUT" }) }, "the agent failed");
    expect(written().split("\n").slice(1)).toEqual([
      "  TypeError: outer code=E_OUT",
      "      at a",
      "      at y",
      "      at z",
      "    [cause]: AggregateError: both",
      "        at b",
      "        ... 2 frames as above",
      "      [errors][0]: Error: one",
      "          at c",
      "          ... 2 frames as above",
      "      [errors][1]: two",
      "",
    ]);
  });

  it("a record on a terminal has colors where they are wanted, and no escape sequences elsewhere", () => {
    const [colored, plain] = [logger({ colors: true }), logger()];
    for (const { log } of [colored, plain]) log.error({ id: 1 }, "failed");
    expect(colored.written()).toContain("\u001b[31mERROR\u001b[0m");
    expect(plain.written()).not.toContain("\u001b");
  });

  it("a record on a terminal lets no text of a caller command the terminal or forge a line", () => {
    const { log, written } = logger();
    const text = "a\n06:00:00.000 INFO  forged\u001b[2J\u202e";
    log.info({ text, err: errorAt(new Error(text), "f") }, text);
    expect(
      written()
        .split("\n")
        .filter((line) => !line.startsWith(" ")),
    ).toHaveLength(2);
    for (const char of ["\u001b", "\u202e"]) expect(written()).not.toContain(char);
  });
});

describe("a record elsewhere", () => {
  it("a record elsewhere is one line of JSON in the order and with the levels of pino", () => {
    const { log, written } = logger({ isTerminal: false });
    for (const level of levels) log[level]({ taskId: "t", level: "own" }, "a\nb");
    const records = written()
      .trimEnd()
      .split("\n")
      .map((line): Record<string, unknown> => JSON.parse(line));
    expect(records.map(({ level }) => level)).toEqual([20, 30, 40, 50]);
    expect(Object.keys(records[0] ?? {})).toEqual(["level", "time", "taskId", "msg"]);
    expect(records[0]).toMatchObject({ taskId: "t", msg: "a\nb" });
  });

  it("a JSON record shows of an error its type, message, stack, plain members, cause and errors", () => {
    const cause = new AggregateError([new TypeError("one")], "both");
    const own = { code: "E_CODE", offset: 7n, config: { headers: { authorization: "Bearer 12345678" } } };
    const { err } = jsonOf({ err: Object.assign(new RangeError("outer", { cause }), own) });
    expect(err).toEqual({
      type: "RangeError",
      message: "outer",
      stack: expect.stringContaining("RangeError: outer\n    at "),
      code: "E_CODE",
      offset: "7",
      cause: expect.objectContaining({
        type: "AggregateError",
        message: "both",
        errors: [expect.objectContaining({ type: "TypeError", message: "one" })],
      }),
    });
  });

  it("a JSON record takes an error in place of the fields", () => {
    expect(jsonOf(new TypeError("bare"))).toMatchObject({ err: { type: "TypeError", message: "bare" } });
  });

  it("a JSON record shows fields that contain themselves, are too deep, too long, or cannot be read", () => {
    const round: Record<string, unknown> = { size: 1n, bytes: new Uint8Array(3), at: new Date(0), call: () => 1 };
    round["self"] = round;
    expect(jsonOf({ round })["round"]).toEqual({
      size: "1",
      bytes: "[3 bytes]",
      at: "1970-01-01T00:00:00.000Z",
      self: "[circular]",
    });
    let deep: object = {};
    for (let level = 0; level < 20; level++) deep = { deep };
    expect(JSON.stringify(jsonOf({ deep }))).toContain("[too deep]");
    const list = Array.from({ length: 150 }, (_, index) => index);
    expect(jsonOf({ list })["list"]).toHaveLength(101);
    expect(JSON.stringify(jsonOf({ list }))).toContain("… 50 more");
    expect(String(jsonOf({ text: "x".repeat(100_000) })["text"])).toMatch(/^x{16384}… \(100000 characters\)$/);
    const broken = {
      get value(): string {
        throw new Error("no value");
      },
    };
    expect(jsonOf(broken)).toMatchObject({ unreadable: "Error: no value", msg: "said" });
  });
});

describe("credentials", () => {
  const secret = "s3cr3t-value";

  it("the search for credentials in a record takes time that grows with the text alone", () => {
    const startedAt = performance.now();
    for (let record = 0; record < 50; record++) jsonOf({ err: new Error("a.".repeat(8192)) });
    // They took a second each.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  it.each([
    { authorization: `Bearer ${secret}` },
    { headers: { Cookie: secret, "X-API-Key": secret, "proxy-authorization": secret } },
    { credentials: { user: secret } },
    { push: [{ token: secret, accessToken: secret, client_secret: secret, password: secret }] },
    { jwt: secret, signature: secret, clientAssertion: secret, SAMLResponse: secret, otp: secret, passphrase: secret },
    { headers: { "x-goog-signature": secret, "X-Amz-Security-Token": secret, DPoP: secret, "session-cookie": secret } },
    { url: `https://hook.example/x?X-Amz-Signature=${secret}&otp=${secret}&client_assertion=${secret}` },
    { url: `postgres://user:${secret}@db/tasks` },
    { url: `https://${secret}@example.org` },
    { url: `https://hook.example/x?a=1&access_token=${secret}&b=2` },
    { text: `the header was "Authorization: Bearer ${secret}"` },
    { err: new Error(`no route to https://u:${secret}@agent.example/`, { cause: new Error(`Basic ${secret}`) }) },
    { err: Object.assign(new Error("refused"), { token: secret, request: { headers: { authorization: secret } } }) },
  ])("credentials are in no record: %j", (fields) => {
    for (const isTerminal of [true, false]) {
      const { log, written } = logger({ isTerminal });
      log.info(fields, `said to https://a:${secret}@b.example`);
      expect(written()).not.toContain(secret);
      expect(written()).toContain("[redacted]");
    }
  });

  it("a record shows what counts tokens, names one or links to a page", () => {
    const fields = {
      inputTokens: 12,
      token: 7,
      shipping: "sea",
      sessionId: "s-1",
      signal: "SIGTERM",
      nextPage: "abc",
      url: "https://a.example/x?page=2",
    };
    expect(jsonOf(fields)).toMatchObject(fields);
  });
});

describe("the level", () => {
  it.each(logLevels.map((least, rank) => ({ least, written: levels.slice(rank) })))(
    "the level $least leaves out records below it",
    ({ least, written }) => {
      const { log, written: text } = logger({ isTerminal: false }, least);
      for (const level of levels) log[level]({}, level);
      const lines = text()
        .split("\n")
        .filter((line) => line !== "");
      expect(lines.map((line) => JSON.parse(line).msg)).toEqual(written);
    },
  );
});

describe("colors", () => {
  const form = (isTTY: boolean, env: Readonly<Record<string, string>>) => outputForm(isTTY, (name) => env[name]);

  it.each([
    { isTTY: true, env: {}, is: { isTerminal: true, colors: true } },
    { isTTY: false, env: {}, is: { isTerminal: false, colors: false } },
    { isTTY: true, env: { NO_COLOR: "1" }, is: { isTerminal: true, colors: false } },
    { isTTY: true, env: { NO_COLOR: "" }, is: { isTerminal: true, colors: true } },
    { isTTY: true, env: { TERM: "dumb" }, is: { isTerminal: true, colors: false } },
    { isTTY: false, env: { FORCE_COLOR: "1" }, is: { isTerminal: true, colors: true } },
    { isTTY: true, env: { FORCE_COLOR: "1", NO_COLOR: "1" }, is: { isTerminal: true, colors: true } },
    { isTTY: true, env: { FORCE_COLOR: "0" }, is: { isTerminal: true, colors: false } },
    { isTTY: false, env: { NO_COLOR: "1" }, is: { isTerminal: false, colors: false } },
  ])("colors follow the terminal and the environment: $isTTY $env", ({ isTTY, env, is }) => {
    expect(form(isTTY, env)).toEqual(is);
  });
});
