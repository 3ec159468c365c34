import { once } from "node:events";
import { type Agent, artifact, reply, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindingNames, bindings } from "../../src/protocol/bindings.js";
import { shell, startTrivium, trivium } from "../support/command.js";

const extension = "urn:example:known";

/** Answers as its message says: with the facts of the call, never, endlessly, or in three events. */
const agent: Agent = async function* ({ text, extensions, principal, signal }) {
  if (text === "who") {
    const uris = extensions.filter((uri) => uri.startsWith("urn:example:"));
    return yield reply(`${principal["test"]} ${uris.join(" ")}`);
  }
  if (text === "token") return yield reply(String(principal["token"]));
  if (text === "never") await once(signal, "abort");
  for (let index = 0; text === "forever" || index < 3; index++) {
    yield artifact(`${index} ${"x".repeat(1000)}`, { artifactId: "a", append: index > 0 });
  }
};

let server: Server;
let places: Readonly<Record<string, string>>;

beforeAll(async () => {
  server = await serve({
    card: { name: "Test", description: "Test", version: "1", extensions: [{ uri: extension }] },
    agent,
    authenticate: ({ header }) => ({
      owner: "somebody",
      test: header("X-Test"),
      token: header("authorization"),
    }),
    port: 0,
    drainMs: 0,
  });
  places = {
    JSONRPC: `${server.url}/json-rpc`,
    "HTTP+JSON": `${server.url}/http-json`,
    GRPC: `127.0.0.1:${server.grpcPort}`,
  };
});

afterAll(() => server.close());

// The agent detects repeated messages by their id.
let lastId = 0;
const sendOf = (text: string): string =>
  JSON.stringify({ message: { messageId: `m${++lastId}`, role: "ROLE_USER", parts: [{ text }] } });

describe.concurrent.each(bindings.filter(({ isCore }) => isCore).map(({ name }) => name))(
  "trivium call over %s",
  (binding) => {
    const call = (operation: string, json: string, ...flags: string[]) =>
      trivium(["call", places[binding] ?? "", operation, json, ...flags]);

    it("trivium call prints a reply as JSON, having sent headers and extensions", async () => {
      const flags = [
        "--header",
        "X-Test: one:two",
        "--header",
        "X-Other:",
        "--extension",
        extension,
        "--extension",
        "urn:no",
      ];
      const { code, stdout, stderr } = await call("sendMessage", sendOf("who"), ...flags);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(stdout)).toMatchObject({
        message: { role: "ROLE_AGENT", parts: [{ text: `one:two ${extension}` }] },
      });
    });

    it("trivium call prints a stream as one JSON object a line", async () => {
      const { code, stdout } = await call("SendStreamingMessage", sendOf("hello"));
      const kinds = stdout
        .trimEnd()
        .split("\n")
        .map((line) => Object.keys(JSON.parse(line) as object));
      expect(code).toBe(0);
      expect(kinds.flat()).toEqual(["task", ...Array(3).fill("artifactUpdate"), "statusUpdate"]);
    });

    it("trivium call prints only the text of an answer on request, that of a stream as it comes", async () => {
      const text = [0, 1, 2].map((index) => `${index} ${"x".repeat(1000)}`).join("");
      for (const operation of ["SendMessage", "SendStreamingMessage"]) {
        const { code, stdout } = await call(operation, sendOf("hello"), "--text");
        expect({ code, stdout }).toEqual({ code: 0, stdout: `${text}\n` });
      }
      expect((await call("SendMessage", sendOf("who"), "--text")).stdout).toBe("undefined \n");
      expect(await call("ListTasks", "{}", "--text")).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          "--text is for operations that answer with a task or a message, not for ListTasks",
        ),
      });
    });

    it.each(["GetTask", "SubscribeToTask"])(
      "trivium call prints the error of %s on stderr and exits with 1",
      async (operation) => {
        const answer = { code: 1, stdout: "", stderr: "taskNotFound: Task not found\n" };
        expect(await call(operation, '{"id":"none"}')).toEqual(answer);
      },
    );

    it("trivium call gives up at its timeout", async () => {
      const { code, stdout, stderr } = await call("SendMessage", sendOf("never"), "--timeout", "300");
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^deadlineExceeded: /);
    });
  },
);

describe.concurrent("trivium call", () => {
  it("trivium call reads the request from standard input, and an empty one if there is no input", async () => {
    const result = await trivium(["call", server.url, "send-message", "-"], { stdin: sendOf("who") });
    expect(JSON.parse(result.stdout)).toHaveProperty("message");
    const listed = await trivium(["call", server.url, "listTasks"]);
    expect(JSON.parse(listed.stdout)).toHaveProperty("tasks");
  });

  it("trivium call names every field at fault before it sends anything", async () => {
    const { code, stderr } = await trivium([
      "call",
      "http://127.0.0.1:1",
      "SendMessage",
      '{"message":{"messageId":7,"role":1.5}}',
    ]);
    expect(code).toBe(1);
    const [first, ...others] = stderr.trimEnd().split("\n");
    expect(first).toMatch(/^invalidParams: /);
    for (const field of ["message.messageId", "message.parts", "message.role"]) {
      expect(
        [first?.replace("invalidParams: invalid parameters:", " "), ...others].some((line) =>
          line?.startsWith(`  ${field} `),
        ),
      ).toBe(true);
    }
  });

  it.each(["JSONRPC", "HTTP+JSON"])("trivium call resumes after an event over %s", async (binding) => {
    const { stdout } = await trivium(["call", places[binding] ?? "", "SendStreamingMessage", sendOf("hello"), "--ids"]);
    const lines = stdout.trimEnd().split("\n");
    const [first, second] = lines.map((line) => JSON.parse(line) as { id: string; event: { task: { id: string } } });
    const request = JSON.stringify({ id: first?.event.task.id });
    const flags = ["--last-event-id", second?.id ?? "", "--ids"];
    const rest = await trivium(["call", places[binding] ?? "", "SubscribeToTask", request, ...flags]);
    expect(rest.stdout.trimEnd().split("\n")).toEqual(lines.slice(2));
  });

  it("trivium call ends well when its reader has seen enough", async () => {
    const command = `"${process.execPath}" dist/src/cli/main.js call ${server.url} SendStreamingMessage '${sendOf("forever")}'`;
    const { stdout, stderr } = await shell(`(${command}; echo "exit $?" >&2) | head -n 1`);
    expect(stderr).toBe("exit 0\n");
    expect(JSON.parse(stdout)).toHaveProperty("task");
  });

  it.each([
    [
      "http://127.0.0.1:1",
      /^unavailable: cannot reach http:\/\/127\.0\.0\.1:1\/\.well-known\/agent-card\.json: connect ECONNREFUSED 127\.0\.0\.1:1 \(tried for [\d.]+ s\)\n/m,
    ],
    ["http://127.0.0.1:1/json-rpc", /^unavailable: .*cannot reach http:\/\/127\.0\.0\.1:1\/json-rpc/m],
    ["127.0.0.1:1", /^unavailable: .*ECONNREFUSED/m],
  ])("trivium call says why it cannot reach %s", async (address, reason) => {
    const { code, stderr } = await trivium(["call", address, "GetTask", '{"id":"x"}', "--timeout", "4000"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(reason);
  });

  it("trivium call reads the card of a base URL, and prints which interface it uses", async () => {
    const { code, stdout, stderr } = await trivium(["call", server.url, "ListTasks", "--verbose"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: `using JSONRPC 1.0 at ${server.url}/json-rpc\n` });
    expect(JSON.parse(stdout)).toHaveProperty("tasks");
  });

  it.each([
    ["HTTP+JSON", `HTTP+JSON 1.0 at`],
    ["GRPC", `GRPC 1.0 at`],
  ])("trivium call uses no other binding than %s when that is asked for", async (binding, used) => {
    const args = ["call", server.url, "ListTasks", "--verbose", "--binding", binding];
    const { code, stderr } = await trivium(args);
    expect(code).toBe(0);
    expect(stderr).toContain(`using ${used}`);
    expect(stderr).toContain(`skipped JSONRPC 1.0 at ${server.url}/json-rpc: not asked for\n`);
  });

  it.each([
    ["http+json", "HTTP+JSON"],
    ["Grpc", "GRPC"],
    ["connect", "CONNECT"],
  ])("trivium call takes the name of a binding in any case: %s", async (written, binding) => {
    const card = { name: "Broad", description: "Lists every binding", version: "1" };
    await using broad = await serve({ card, agent, port: 0, bindings: bindingNames, drainMs: 0 });
    const { code, stderr } = await trivium(["call", broad.url, "ListTasks", "--verbose", "--binding", written]);
    expect({ code, used: /^using .* at/m.exec(stderr)?.[0] }).toEqual({ code: 0, used: `using ${binding} 1.0 at` });
  });

  it("trivium call calls an interface of Connect by its URL", async () => {
    const args = ["call", `${server.url}/`, "SendMessage", sendOf("token"), "--bearer", "t0", "--binding", "CONNECT"];
    const { stdout } = await trivium(args);
    expect(JSON.parse(stdout)).toMatchObject({ message: { parts: [{ text: "Bearer t0" }] } });
  });

  it.each(["json-rpc", "http-json", "REST"])(
    "trivium call lists the bindings for a name that is none: %s",
    async (written) => {
      const { code, stderr } = await trivium(["call", server.url, "ListTasks", "--binding", written]);
      expect(code).toBe(2);
      expect(stderr).toContain(`'${written}' is invalid. The bindings are JSONRPC, GRPC, HTTP+JSON, CONNECT.`);
    },
  );

  it("trivium call reports that the card does not list the requested binding", async () => {
    const card = { name: "Plain", description: "HTTP alone", version: "1" };
    await using plain = await serve({ card, agent, port: 0, bindings: ["JSONRPC"], drainMs: 0 });
    expect(await trivium(["call", plain.url, "ListTasks", "--binding", "GRPC"])).toEqual({
      code: 1,
      stdout: "",
      stderr: "unavailable: the card lists no interface of GRPC, only JSONRPC\n",
    });
  });

  it.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
    "trivium call sends a bearer token to an interface of %s",
    async (binding) => {
      const { stdout } = await trivium([
        "call",
        places[binding] ?? "",
        "SendMessage",
        sendOf("token"),
        "--bearer",
        "t0",
      ]);
      expect(JSON.parse(stdout)).toMatchObject({ message: { parts: [{ text: "Bearer t0" }] } });
    },
  );

  it("trivium call takes the token from the environment, the one of its arguments first", async () => {
    const askToken = async (...flags: string[]) =>
      (
        await trivium(["call", server.url, "SendMessage", sendOf("token"), ...flags], {
          env: { TRIVIUM_BEARER: "env" },
        })
      ).stdout;
    expect(await askToken()).toContain("Bearer env");
    expect(await askToken("--bearer", "arg")).toContain("Bearer arg");
  });

  it("trivium call leaves a stream at Ctrl-C, and exits with 130", async () => {
    const left = Promise.withResolvers<void>();
    const card = { name: "Endless", description: "Never ends", version: "1" };
    await using endless = await serve({
      card,
      port: 0,
      drainMs: 0,
      async *agent() {
        yield artifact("x");
        await new Promise<void>(() => {});
      },
      limits: { graceMs: 10 },
    });
    const child = startTrivium(["call", endless.url, "SendStreamingMessage", sendOf("go")]);
    const chunks: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => {
      chunks.push(chunk.toString());
      if (chunks.join("").includes("artifactUpdate")) left.resolve();
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const closed = once(child, "close");
    await left.promise;
    child.kill("SIGINT");
    expect(await closed).toEqual([130, null]);
    expect(stderr).toBe("");
  });
});
