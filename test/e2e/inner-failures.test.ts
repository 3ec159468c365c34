import { createServer, type RequestListener } from "node:http";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import {
  type Agent,
  Client,
  gateway,
  memoryTaskStore,
  reply,
  type ServeOptions,
  type Store,
  serve,
  working,
} from "trivium";
import { type AuthScheme, apiKey, basic, bearerJwt, oauth2, openIdConnect } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Transport } from "../../src/binding/transport.js";
import { A2AError, type ErrorCode } from "../../src/protocol/errors.js";
import { findOperation, invokeStream, invokeUnary, type OperationName } from "../../src/protocol/operations.js";
import { type HttpServer, serveHttp } from "../support/http-agent.js";
import { expectNoInternals } from "../support/raw-wire.js";
import { type LogLine, recordingLogger } from "../support/recording-logger.js";
import { say } from "../support/say.js";
import { bareTransport, type ServerAddress } from "../support/serve-agent.js";
import { callHeader, tapHttp, tapHttp2, type WireTap } from "../support/wire-tap.js";
import { errorOverWire, type Wire, wireRow, wires, wiresThat } from "../support/wires.js";

// Whatever fails behind a server, its callers learn nothing of where it runs and what it calls: no URL, address, file
// name, system error or stack. The reason is in the log, under the reference that they get.

const jwtHead = { alg: "ES256", kid: "k" };
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const token = [jwtHead, { iss: "https://id.example", exp: 9e9, sub: "a", aud: "weather" }, {}].map(part).join(".");
const headers: Readonly<Record<string, string>> = { authorization: `Bearer ${token}`, "x-key": "k" };

const path = "/tmp/secret-place/tasks.db";
/** What libraries and drivers throw. */
function failInside(): never {
  const cause = Object.assign(new Error(`connect ECONNREFUSED 10.11.12.13:5432`), { code: "ECONNREFUSED" });
  throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`, { cause }), { code: "ENOENT" });
}

/** Servers that a request should not meet. */
const handlers = {
  redirects: (_, response) => void response.writeHead(302, { location: `http://10.11.12.13${path}` }).end(),
  "answers nonsense": (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end(`<p>${path}`),
  "answers JSON of another kind": (_, response) =>
    void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ path, keys: path })),
  fails: (_, response) => void response.writeHead(500, { "content-type": "text/plain" }).end(`at ${path}:1:1`),
  "hangs up": (request) => void request.socket.destroy(),
} satisfies Record<string, RequestListener>;

type Behavior = keyof typeof handlers | "is away";
const behaviors: readonly Behavior[] = ["is away", ...(Object.keys(handlers) as (keyof typeof handlers)[])];

const open: HttpServer[] = [];
const urls = new Map<Behavior, string>();
beforeAll(async () => {
  for (const name of behaviors) {
    const server = await serveHttp(createServer(name === "is away" ? undefined : handlers[name]));
    urls.set(name, server.url);
    if (name === "is away") await server[Symbol.asyncDispose]();
    else open.push(server);
  }
});
afterAll(async () => {
  for (const server of open) await server[Symbol.asyncDispose]();
});

interface Scene {
  /** The error of a call that meets the failure. */
  readonly code: ErrorCode;
  /** Options of the server, whose neighbor has this URL. */
  readonly options: (url: string) => Partial<ServeOptions>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly call?: OperationName;
  /** Whether the error has a reference. Default: true. */
  readonly isReferred?: boolean;
  /** Whether a turn of the agent meets the failure. Default: false. */
  readonly isOfTurn?: boolean;
  /** Whether the agent has started before. Default: as `isOfTurn`. */
  readonly hasBegun?: boolean;
}

const card = { name: "Tested", description: "Does what the test says", version: "1.0.0" };
const jwt = { issuer: "https://id.example", audience: "weather" };
const flows = (url: string) => ({ clientCredentials: { tokenUrl: `${url}/token`, scopes: {} } });
const introspection = (url: string) => ({ endpoint: `${url}/ask`, clientId: "weather", clientSecret: "s3cret" });
const connect = (url: string) => Client.connect(url, { retry: false });
const withScheme = (scheme: (url: string) => AuthScheme) => (url: string) => ({
  auth: { schemes: { one: scheme(url) } },
});

/** A card whose only interface is at a URL, with a server of tokens there. */
const cardAt = (url: string) => ({
  ...card,
  supportedInterfaces: [{ url: `${url}/json-rpc`, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
});

/** What a server calls, and what fails there. */
const neighbors: Readonly<Record<string, Scene>> = {
  "the keys of its issuer": {
    code: "unavailable",
    options: withScheme((url) => bearerJwt({ ...jwt, jwks: `${url}/internal/jwks` })),
  },
  "the metadata of its issuer": {
    code: "unavailable",
    options: withScheme((url) => bearerJwt({ audience: "weather", issuer: url })),
  },
  "the metadata of its OpenID provider": {
    code: "unavailable",
    options: withScheme((url) =>
      openIdConnect({ audience: "weather", discoveryUrl: `${url}/.well-known/openid-configuration` }),
    ),
  },
  "the server that it asks about tokens": {
    code: "unavailable",
    options: withScheme((url) => oauth2({ flows: flows(url), introspection: introspection(url) })),
  },
  "an agent that its interceptor calls": {
    code: "unavailable",
    options: (url) => ({ interceptors: [() => connect(url).then(failInside)] }),
  },
  "an agent that its authenticate calls": {
    code: "unavailable",
    options: (url) => ({ authenticate: () => connect(url).then(failInside) }),
  },
  "an agent that its agent looks for": {
    code: "unavailable",
    isOfTurn: true,
    options: (url) => ({ agent: () => connect(url).then(failInside) }),
  },
  "an agent that its agent calls": {
    code: "unavailable",
    isOfTurn: true,
    options: (url) => ({
      async agent() {
        await using other = await Client.connect(cardAt(url), { retry: false });
        await other.send("hello");
      },
    }),
  },
  "the server that gives its agent tokens": {
    code: "unavailable",
    isOfTurn: true,
    options: (url) => ({
      async agent() {
        const securitySchemes = { one: { oauth2SecurityScheme: { flows: flows(url) } } };
        const guarded = { ...cardAt(url), securitySchemes, securityRequirements: [{ schemes: { one: { list: [] } } }] };
        const oauth = { clientId: "weather", clientSecret: "s3cret", trustedOrigins: [url] };
        await using other = await Client.connect(guarded, { retry: false, credentials: { oauth } });
        await other.send("hello");
      },
    }),
  },
};

const inside = { authenticate: () => ({ owner: "o" }) };
const failingStore = (): Store => {
  const store = memoryTaskStore();
  return Object.assign(store, {
    create: async () => failInside(),
    list: async () => failInside(),
    get: async () => failInside(),
  });
};

/** What a server runs, and what fails there. */
const parts: Readonly<Record<string, Scene>> = {
  "the verify of its API keys": {
    code: "unavailable",
    options: withScheme(() => apiKey({ in: "header", name: "x-key", verify: failInside })),
  },
  "the verify of its passwords": {
    code: "unavailable",
    options: withScheme(() => basic({ verify: async () => failInside() })),
    headers: { authorization: `Basic ${Buffer.from("name:password").toString("base64")}` },
  },
  "a scheme of its own": {
    code: "unavailable",
    options: withScheme(() => ({ ...basic({ verify: () => "x" }), open: () => failInside })),
  },
  "a scheme that an operation requires": {
    code: "unavailable",
    options: () => ({
      auth: {
        schemes: {
          one: apiKey({ in: "header", name: "x-key", verify: (key) => key }),
          other: apiKey({ in: "header", name: "authorization", verify: failInside }),
        },
        require: [["one"]],
        operations: { sendMessage: [["other"]], sendStreamingMessage: [["other"]] },
      },
    }),
  },
  "its principal function": {
    code: "internalError",
    options: () => ({
      auth: { schemes: { one: apiKey({ in: "header", name: "x-key", verify: (key) => key }) }, principal: failInside },
    }),
  },
  "its authenticate": {
    isReferred: false,
    code: "unauthenticated",
    options: () => ({ authenticate: failInside }),
  },
  "its interceptor": { code: "internalError", options: () => ({ interceptors: [failInside] }) },
  "its store, of a task": {
    isReferred: false,
    hasBegun: true,
    code: "unavailable",
    options: () => ({
      store: failingStore(),
      limits: { storeRetryMs: 20, storeWaitMs: 20 },
      agent: async function* () {
        yield working();
      },
    }),
  },
  "its store, of a list": {
    isReferred: false,
    code: "unavailable",
    options: () => ({ store: failingStore() }),
    call: "listTasks",
  },
  "the maker of its extended card": {
    code: "internalError",
    options: () => ({ ...inside, card: { ...card, extended: failInside } }),
    call: "getExtendedAgentCard",
  },
};

/** A server and everything that its callers and its operator see. */
interface Watched extends AsyncDisposable {
  readonly log: readonly LogLine[];
  /** Calls an operation. Returns all that came over the wire, what a client makes of it, and its error. */
  call(wire: Wire, name: OperationName): Promise<{ readonly text: string; readonly error: A2AError | undefined }>;
}

type Started = ServerAddress & { readonly port: number; close(): Promise<void> };

function watch(server: Started, log: readonly LogLine[], sent = headers): Watched {
  const lines = new Map<Wire, Promise<{ readonly tap: WireTap | undefined; readonly transport: Transport }>>();
  let serial = 0;
  const openLine = async (wire: Wire) => {
    const { binding } = wireRow(wire);
    if (binding === "in-process") return { tap: undefined, transport: server.inProcess() };
    const tap = await (binding === "GRPC" ? tapHttp2(server.grpcPort) : tapHttp(server.port));
    const place = { ...server, url: `http://127.0.0.1:${tap.port}`, grpcPort: tap.port };
    return { tap, transport: await bareTransport(wire, place) };
  };
  return {
    log,
    async call(wire, name) {
      const line = lines.get(wire) ?? openLine(wire);
      lines.set(wire, line);
      const { tap, transport } = await line;
      const id = String(++serial);
      const options = { headers: { ...sent, [callHeader]: id } };
      const operation = findOperation(name);
      const request = name.startsWith("send") ? say("go") : create(operation.input);
      const replies: unknown[] = [];
      let error: A2AError | undefined;
      try {
        if (operation.streams)
          for await (const { response } of invokeStream(transport, operation, request, options)) replies.push(response);
        else replies.push(await invokeUnary(transport, operation, request, options));
      } catch (thrown) {
        if (!(thrown instanceof A2AError)) throw thrown;
        error = thrown;
      }
      const { code, message, metadata, violations, challenge } = error ?? {};
      const seen = inspect({ replies, code, message, metadata, violations, challenge }, { depth: 20 });
      return { error, text: [...(tap?.take(id) ?? []), seen].join("\n") };
    },
    async [Symbol.asyncDispose]() {
      for (const line of lines.values()) {
        const { tap, transport } = await line;
        await transport.close?.();
        await tap?.[Symbol.asyncDispose]();
      }
      await server.close();
    },
  };
}

const bindings = ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"] as const;

async function start({ options, headers }: Scene, url = ""): Promise<Watched> {
  const { log, logger } = recordingLogger();
  const agent: Agent = async () => reply("done");
  const server = await serve({ card, agent, port: 0, logger, drainMs: 0, bindings, ...options(url) });
  return watch(server, log, headers);
}

/** Fails where a text says where a server runs or what it calls. */
function expectNoSurroundings(text: string): void {
  expect(text).not.toMatch(/https?:|127\.0\.0\.1|10\.11\.12\.13|localhost/);
  expect(text).not.toMatch(/\/tmp|secret-place|tasks\.db|jwks|well-known|\bE(?:CONN|NOENT|ACCES|AI_|PIPE|HOST)/);
  expectNoInternals(text);
}

/** Fails unless the log has the reason under the reference that the caller got. */
function expectLogged({ log }: Watched, text: string): void {
  const [, reference] = /\(reference ([\w-]+)\)/.exec(text.replaceAll("%20", " ")) ?? [];
  const record = log.find(({ fields }) => Reflect.get(fields, "reference") === reference);
  expect(record?.fields).toMatchObject({ reference: expect.any(String), err: expect.any(Error) });
}

async function expectMasked(watched: Watched, wire: Wire, scene: Scene): Promise<void> {
  const { code, call: name = "sendMessage", isReferred = true } = scene;
  const { text, error } = await watched.call(wire, name);
  expectNoSurroundings(text);
  // What another agent answers is no failure of the call, and in 0.1 a task answers where the others refuse.
  const isAnswer = scene.isOfTurn === true && (error === undefined || error.code === "invalidAgentResponse");
  if (!isAnswer) expect(error).toMatchObject(errorOverWire(wire, { code }));
  if (isReferred && error?.code !== "invalidAgentResponse") expectLogged(watched, text);
  if (error?.code !== "unavailable") return;
  // gRPC-Web has its status in a binary body.
  if (["in-process", "grpc-web"].includes(wireRow(wire).binding)) return;
  const [status = ""] = text.split("\n");
  // A call whose agent has started must not be repeated.
  const http = (scene.hasBegun ?? scene.isOfTurn) === true ? "502" : "503";
  expect(/grpc-status: (\d+)/.exec(text)?.[1] ?? status).toBe(wireRow(wire).binding === "GRPC" ? "14" : http);
  if (text.includes("cannot verify")) expect(text).toMatch(/^retry-after: [1-9]|grpc-status: 14/m);
}

describe.each(Object.entries(neighbors))("callers learn nothing of the surroundings of a server", (name, scene) => {
  describe.each(behaviors)(`when ${name} %s`, (behavior) => {
    let watched: Watched;
    beforeAll(async () => {
      watched = await start(scene, urls.get(behavior));
    });
    afterAll(() => watched[Symbol.asyncDispose]());

    const isOnEach = behavior === "is away" || behavior === "redirects";
    it.each(isOnEach ? wires : (["JSONRPC"] as const))(
      "callers over %s learn nothing of the surroundings of a server",
      (wire) => expectMasked(watched, wire, scene),
    );
  });
});

describe.each(Object.entries(parts))("callers learn nothing of the inside of a server when %s fails", (_, scene) => {
  let watched: Watched;
  beforeAll(async () => {
    watched = await start(scene);
  });
  afterAll(() => watched[Symbol.asyncDispose]());

  const able = scene.call === undefined ? wires : wiresThat("list tasks", "have an extended card");
  it.each(able)("callers over %s learn nothing of the inside of a server that fails", (wire) =>
    expectMasked(watched, wire, scene),
  );
});

describe.each(behaviors)("callers of a gateway learn nothing of its agent when that %s", (behavior) => {
  let watched: Watched;
  let impostor: HttpServer | undefined;
  beforeAll(async () => {
    const { log, logger } = recordingLogger();
    const behind = await serve({ card, agent: async () => reply("done"), port: 0, logger: false, drainMs: 0 });
    const passing = await gateway({
      ...{ upstream: behind.url, port: 0, logger, drainMs: 0, bindings },
      client: { retry: false, prefer: ["JSONRPC"] },
    });
    await behind.close();
    if (behavior !== "is away") impostor = await serveHttp(createServer(handlers[behavior]), [], behind.port);
    watched = watch(passing, log);
  });
  afterAll(async () => {
    await watched[Symbol.asyncDispose]();
    await impostor?.[Symbol.asyncDispose]();
  });

  it.each(wires)("callers of a gateway learn nothing of its agent over %s", async (wire) => {
    const { text, error } = await watched.call(wire, "sendMessage");
    expect(["unavailable", "invalidAgentResponse", "internalError"]).toContain(error?.code);
    expectNoSurroundings(text);
  });
});
