import {
  A2AError,
  type AgentOptions,
  type AgentServer,
  completed,
  createAgent,
  memoryTaskStore,
  park,
  type RateOptions,
  type ServeOptions,
  serve,
  working,
} from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";
import { idempotentSendExtension } from "../../src/protocol/extensions.js";
import { postJson } from "../support/http-agent.js";
import { recordingLogger } from "../support/recording-logger.js";

const card = { name: "Limited", description: "Is limited", version: "1.0.0" };

function serveLimited(options: Partial<ServeOptions>): Promise<AgentServer> {
  return serve({ card, port: 0, drainMs: 0, logger: false, agent: async () => completed("done"), ...options });
}

let messages = 0;

function sendBody(changes: object = {}) {
  const message = { messageId: `m${++messages}`, role: "ROLE_USER", parts: [{ text: "go" }], ...changes };
  return { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
}

const v1 = { "A2A-Version": "1.0" };

function send({ url }: AgentServer, headers: Record<string, string> = {}, changes: object = {}) {
  return postJson(`${url}/json-rpc`, sendBody(changes), { ...v1, ...headers });
}

describe("replies under rate limits per caller", () => {
  it("replies under limits say in RateLimit fields what is left, over JSON-RPC, HTTP+JSON and Connect", async () => {
    await using server = await serveLimited({
      authenticate: ({ header }) => ({ owner: header("x-owner") ?? "" }),
      rate: { owner: { requests: ["3/day", { limit: 1000, windowMs: 1_800_000 }], bytes: "100000/day" } },
    });
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "go" }] };
    const paths = [
      ["/json-rpc", sendBody()],
      ["/http-json/message:send", { message }],
      ["/lf.a2a.v1.A2AService/SendMessage", { message }],
    ] as const;
    for (const [path, body] of paths) {
      const ask = () => postJson(server.url + path, body, { ...v1, "x-owner": path });
      const first = await ask();
      expect([path, first.status, first.text]).toEqual([path, 200, expect.anything()]);
      expect(first.headers["ratelimit-policy"]).toBe(
        '"owner.bytes";q=100000;qu="content-bytes";w=86400, ' +
          '"owner.requests[0]";q=3;w=86400, "owner.requests[1]";q=1000;w=1800',
      );
      expect(first.headers["ratelimit"]).toMatch(
        /^"owner\.bytes";r=99\d{3};t=\d+, "owner\.requests\[0\]";r=2;t=\d+, "owner\.requests\[1\]";r=999;t=\d+$/,
      );
      expect(first.headers["retry-after"]).toBeUndefined();
      await ask();
      await ask();
      const refused = await ask();
      expect(refused.status).toBe(429);
      expect(refused.headers["ratelimit"]).toContain('"owner.requests[0]";r=0;t=');
      // The call was not counted where it would have been allowed.
      expect(refused.headers["ratelimit"]).toContain('"owner.requests[1]";r=997;t=');
      const seconds = /requests\[0\]";r=0;t=(\d+)/.exec(String(refused.headers["ratelimit"]))?.[1];
      expect(refused.headers["retry-after"]).toBe(seconds);
      expect(refused.text).toContain("rate.owner.requests[0]");
    }
  });

  it("replies of new tasks have RateLimit fields too, and streams have them from the start", async () => {
    await using server = await serveLimited({ rate: { all: { tasks: "2/day", tokens: "100/day" } } });
    const body = { ...sendBody(), method: "SendStreamingMessage" };
    const headers = { ...v1, accept: "text/event-stream" };
    const first = await postJson(`${server.url}/json-rpc`, body, headers);
    expect(first.headers["content-type"]).toContain("text/event-stream");
    expect(first.headers["ratelimit"]).toMatch(/^"all\.tasks";r=1;t=\d+, "all\.tokens";r=100;t=\d+$/);
    expect(first.headers["ratelimit-policy"]).toBe('"all.tasks";q=2;w=86400, "all.tokens";q=100;qu="tokens";w=86400');
    await postJson(`${server.url}/json-rpc`, body, headers);
    expect((await postJson(`${server.url}/json-rpc`, body, headers)).status).toBe(429);
  });

  it("replies have no RateLimit fields without limits", async () => {
    await using server = await serveLimited({});
    const { headers } = await send(server);
    expect(Object.keys(headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
  });

  it("the bytes of a caller that has used them up are refused before its body is read", async () => {
    await using server = await serveLimited({ rate: { all: { bytes: "100/day" } } });
    expect((await send(server)).status).toBe(200);
    const endless = new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(1024)) });
    const answer = await fetch(`${server.url}/json-rpc`, {
      method: "POST",
      body: endless,
      duplex: "half",
      headers: { "content-type": "application/json" },
    } as RequestInit);
    expect(answer.status).toBe(429);
    expect(await answer.text()).toContain("too many bytes of all callers: the limit is 100/day (rate.all.bytes)");
  });
});

describe("a send that is to take effect once", () => {
  const once = { "A2A-Extensions": idempotentSendExtension };

  it("an idempotent send counts as one new task however often it is sent, also at the same time", async () => {
    await using server = await serveLimited({ rate: { all: { tasks: "2/day" } } });
    const again = () => send(server, once, { messageId: "same" });
    const answers = [...(await Promise.all([again(), again(), again()])), await again(), await again()];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const ids = answers.map(({ text }) => JSON.parse(text).result.task?.id ?? text);
    expect(new Set(ids).size).toBe(1);
    expect((await send(server, once, { messageId: "second" })).status).toBe(200);
    expect((await again()).status).toBe(200);
    expect((await send(server, once, { messageId: "third" })).status).toBe(429);
  });

  it("an idempotent send may be repeated after it was refused, and then starts its task", async () => {
    const held = Promise.withResolvers<void>();
    let callCount = 0;
    await using server = await serveLimited({
      rate: { all: { turns: 1, tasks: "2/day" } },
      limits: { turnWaitMs: 0 },
      async *agent() {
        callCount += 1;
        yield working();
        await held.promise;
        yield completed();
      },
    });
    const message = { messageId: "first", role: "ROLE_USER", parts: [{ text: "go" }] };
    const params = { message, configuration: { returnImmediately: true } };
    const first = await postJson(`${server.url}/json-rpc`, { ...sendBody(), params }, { ...v1, ...once });
    expect(first.status).toBe(200);
    const refused = () => send(server, once, { messageId: "refused" });
    // Neither counts as a task: both are refused by the limit of turns.
    expect([(await refused()).status, (await refused()).status]).toEqual([429, 429]);
    expect(callCount).toBe(1);
    held.resolve();
    await expect.poll(async () => (await refused()).status).toBe(200);
    expect(callCount).toBe(2);
    expect((await send(server, once, { messageId: "over" })).text).toContain("rate.all.tasks");
  });
});

describe("servers of one program on one store in memory", () => {
  it("servers of one program on one store in memory share the windows of their callers", async () => {
    const store = memoryTaskStore();
    const limited = { store, rate: { all: { requests: "4/day" } } } as const;
    await using one = await serveLimited(limited);
    await using other = await serveLimited(limited);
    const statuses: number[] = [];
    for (const server of [one, other, one, other, one, other]) statuses.push((await send(server)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(4);
    await store.close();
  });
});

describe("rate", () => {
  const start = (rate: object, more: Partial<AgentOptions> = {}) =>
    serveLimited({ rate: rate as RateOptions, ...more }).then(
      (server) => server.close(),
      (error: unknown) => String(error),
    );
  const skills = [{ id: "book", name: "Book", description: "Books", tags: ["book"] }];

  it.each([
    [{ owner: { request: "1/day" } }, "rate.owner.request cannot be given: did you mean requests?"],
    [{ all: { requests: "600/minutes" } }, 'not "600/minutes": did you mean "600/minute"?'],
    [{ all: { requests: "many/minute" } }, 'rate.all.requests must be a rate such as "600/minute" or'],
    [{ all: { requests: "0/minute" } }, 'rate.all.requests must be a rate such as "600/minute" or'],
    [{ all: { requests: 600 } }, "not a value of type number"],
    [{ all: { requests: [] } }, "rate.all.requests is empty"],
    [{ all: { requests: ["1/day", { limit: 1 }] } }, "rate.all.requests[1].windowMs is missing"],
    [{ all: { requests: { limit: 1, windowMs: 1e11 } } }, "must be at most 2073600000, which is 24 days"],
    [{ all: { turns: 0 } }, "rate.all.turns must be a whole number of 1 or more"],
    [{ address: { tokens: "1/day" } }, "rate.address.tokens cannot be given: an agent charges owners"],
    [{ operations: { getTasks: {} } }, "rate.operations.getTasks cannot be given: did you mean getTask?"],
    [
      { operations: { getTask: { all: { tasks: "1/day" } } } },
      "rate.operations.getTask.all.tasks cannot be given: limit",
    ],
    [
      { skills: { boook: { all: { tasks: "1/day" } } } },
      'rate.skills.boook is not a skill of the card: did you mean "book"?',
    ],
    [{ failedAttempts: true }, "rate.failedAttempts must be false or a rate such as"],
    [
      { owner: { tasks: "1/day" } },
      "rate.owner.tasks needs `auth` or `authenticate`: without them all callers are one owner",
    ],
    [
      { skills: { book: { tenant: { turns: 1 } } } },
      "rate.skills.book.tenant.turns needs `auth`, `authenticate` or `tenants`",
    ],
  ])("the rate %o does not start: %s", async (rate, problem) => {
    expect(await start(rate, { card: { ...card, skills } })).toContain(problem);
  });

  it("a tenant that does not exist has no count of its own", async () => {
    await using server = await serveLimited({ tenants: ["red", "green"], rate: { tenant: { requests: "1/day" } } });
    const ask = async (tenant: string) => {
      const body = { ...sendBody(), method: "ListTasks", params: { tenant } };
      return (await postJson(`${server.url}/json-rpc`, body, v1)).status;
    };
    expect([await ask("red"), await ask("red"), await ask("green")]).toEqual([200, 429, 200]);
    expect(await ask("blue")).toBe(200);
    expect([await ask("violet"), await ask("")]).toEqual([429, 429]);
  });
});

describe("turn.charge", () => {
  it("turn.charge counts the tokens of a turn that was woken, for the owner of its task", async () => {
    const left: number[] = [];
    await using server = await serveLimited({
      authenticate: ({ header }) => ({ owner: header("x-owner") ?? "" }),
      rate: { owner: { tokens: "100/day" } },
      async *agent({ charge, cause }) {
        left.push((await charge({ tokens: 60 })).left);
        yield cause === "wake" ? completed() : park();
      },
    });
    const start = (owner: string) => {
      const { params, ...body } = sendBody();
      const later = { ...params, configuration: { returnImmediately: true } };
      return postJson(`${server.url}/json-rpc`, { ...body, params: later }, { ...v1, "x-owner": owner });
    };
    const { id } = JSON.parse((await start("ann")).text).result.task;
    await expect.poll(() => server.tasks.wake(id, null, { owner: "ann" })).toBe(true);
    await expect.poll(() => left).toEqual([40, 0]);
    expect((await start("ann")).text).toContain("rate.owner.tokens");
    expect((await start("ben")).status).toBe(200);
  });

  it("turn.charge has no end without a budget, and takes whole numbers alone", async () => {
    const charges: unknown[] = [];
    await using server = await serveLimited({
      async agent({ charge }) {
        charges.push(await charge({ tokens: 5 }));
        for (const tokens of [-1, 0.5, "5"]) {
          charges.push(await charge({ tokens: tokens as number }).catch(String));
        }
        return completed();
      },
    });
    await send(server);
    const problem = "TypeError: charge(): tokens must be a whole number of 0 or more, not";
    expect(charges).toEqual([{ left: Infinity }, `${problem} -1`, `${problem} 0.5`, `${problem} 5`]);
  });
});

describe("an interceptor", () => {
  it("an interceptor sees what limits refuse, and calls that it answers itself are not counted", async () => {
    const errors: string[] = [];
    await using server = await serveLimited({
      rate: { all: { requests: "1/day" } },
      interceptors: [
        async (call, next) => {
          if (call.operation === "cancelTask") throw new A2AError("permissionDenied", "never");
          return next(call).catch((error: unknown) => {
            errors.push(error instanceof A2AError ? `${error.code} ${error.metadata["limit"]}` : String(error));
            throw error;
          });
        },
      ],
    });
    await postJson(`${server.url}/json-rpc`, { ...sendBody(), method: "CancelTask", params: { id: "x" } }, v1);
    expect([(await send(server)).status, (await send(server)).status]).toEqual([200, 429]);
    expect(errors).toEqual(["resourceExhausted rate.all.requests"]);
  });
});

describe("failed attempts to authenticate", () => {
  const key = apiKey({
    in: "header",
    name: "x-api-key",
    verify: (secret) => (secret === "right" || secret === "new" ? secret : undefined),
  });
  const proxied = { trustProxy: ["127.0.0.1"], auth: { schemes: { key } } } satisfies Partial<ServeOptions>;
  const attempt = async (server: AgentServer, secret: string | undefined, address = "192.0.2.1") => {
    const named = secret === undefined ? {} : { "x-api-key": secret };
    return send(server, { ...named, "x-forwarded-for": address });
  };
  const statuses = async (server: AgentServer, ...secrets: readonly (string | undefined)[]) => {
    const answers: number[] = [];
    for (const each of secrets) answers.push((await attempt(server, each)).status);
    return answers;
  };

  it("failed attempts to authenticate are limited for each address, and the refusal says so", async () => {
    let checks = 0;
    const counting = apiKey({
      in: "header",
      name: "x-api-key",
      verify: (secret) => {
        checks += 1;
        return secret === "right" ? secret : undefined;
      },
    });
    const auth = { schemes: { key: counting } };
    await using server = await serveLimited({ ...proxied, auth, rate: { failedAttempts: "3/day" } });
    expect(await statuses(server, "a", "b", "c", "d", "right")).toEqual([401, 401, 401, 429, 429]);
    expect(checks).toBe(3);
    const refused = await attempt(server, "e");
    expect(refused.text).toContain(
      "too many failed attempts to authenticate from this address: the limit is 3/day (rate.failedAttempts)",
    );
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(1);
    expect((await attempt(server, "right", "192.0.2.2")).status).toBe(200);
  });

  it.each([
    ["since the first of them", ["a", "right", "b", "c", "d"], [401, 200, 401, 401, 429]],
    ["before the first of them", ["right", "a", "b", "c", "d"], [200, 401, 401, 401, 429]],
  ] as const)(
    "failed attempts do not lock out callers of the same address whose credentials were accepted %s",
    async (_, secrets, codes) => {
      await using server = await serveLimited({ ...proxied, rate: { failedAttempts: "3/day" } });
      expect(await statuses(server, ...secrets)).toEqual(codes);
      expect(await statuses(server, "right", "right", "new", "e", "right")).toEqual([200, 200, 429, 429, 200]);
    },
  );

  it("failed attempts lock out no credentials that were accepted from another address either", async () => {
    await using server = await serveLimited({ ...proxied, rate: { failedAttempts: "1/day" } });
    expect((await attempt(server, "right", "192.0.2.2")).status).toBe(200);
    expect(await statuses(server, "a", "right", "new")).toEqual([401, 200, 429]);
  });

  it("credentials that were accepted once and no longer are count as failed attempts", async () => {
    let isRevoked = false;
    const revocable = apiKey({ in: "header", name: "x-api-key", verify: () => (isRevoked ? undefined : "ann") });
    const auth = { schemes: { key: revocable } };
    await using server = await serveLimited({ ...proxied, auth, rate: { failedAttempts: "2/day" } });
    expect(await statuses(server, "right", "right", "right")).toEqual([200, 200, 200]);
    isRevoked = true;
    expect(await statuses(server, "right", "right", "right")).toEqual([401, 401, 429]);
  });

  /** A server that checks keys when it is told to, at most 20 of which may fail. */
  async function serveSlowly() {
    const checks: { readonly secret: string; readonly end: (owner: string | undefined) => void }[] = [];
    const verify = (secret: string) =>
      secret === "known" ? "ann" : new Promise<string | undefined>((end) => checks.push({ secret, end }));
    const auth = { schemes: { key: apiKey({ in: "header", name: "x-api-key", verify }) } };
    const server = await serveLimited({ ...proxied, auth, rate: { failedAttempts: "20/day" } });
    const endAll = () => {
      for (const { secret, end } of checks.splice(0)) end(secret.startsWith("good") ? secret : undefined);
    };
    return { server, checks, endAll };
  }

  it("failed attempts are never more than the limit, however many credentials come at once", async () => {
    const { server, checks, endAll } = await serveSlowly();
    await using _ = server;
    const attempts = Array.from({ length: 150 }, (_, n) => attempt(server, `guess${n}`));
    // 20 are checked, 100 wait, the others are refused.
    const early = await Promise.race(attempts);
    expect([early.status, early.headers["retry-after"]]).toEqual([429, "1"]);
    await expect.poll(() => checks.length).toBe(20);
    expect((await attempt(server, "known")).status).toBe(429);
    expect((await attempt(server, "known", "192.0.2.9")).status).toBe(200);
    expect((await attempt(server, "known")).status).toBe(200);
    endAll();
    const codes = (await Promise.all(attempts)).map(({ status }) => status);
    expect(codes.filter((code) => code === 401)).toHaveLength(20);
    expect(codes.filter((code) => code === 429)).toHaveLength(130);
    expect(checks).toHaveLength(0);
  });

  it("failed attempts give the places of credentials that are right back to those that wait", async () => {
    const { server, checks, endAll } = await serveSlowly();
    await using _ = server;
    const attempts = Array.from({ length: 60 }, (_, n) => attempt(server, `good${n}`));
    for (let round = 0; round < 3; round++) {
      await expect.poll(() => checks.length).toBe(20);
      endAll();
    }
    expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual(Array(60).fill(200));
  });

  it("failed attempts at a mount that does not know their address count together, as requests do", async () => {
    const { log, logger } = recordingLogger();
    const options = { card, agent: async () => completed("done"), auth: { schemes: { key } }, logger };
    const agent = await createAgent({ ...options, rate: { failedAttempts: "2/day", address: { requests: "4/day" } } });
    const ask = async (listener: (request: Request) => Promise<Response>, secret: string) => {
      const headers = { ...v1, "Content-Type": "application/json", "x-api-key": secret };
      const body = JSON.stringify(sendBody());
      return (await listener(new Request("http://agent.example/json-rpc", { method: "POST", headers, body }))).status;
    };
    const nameless = agent.fetch();
    const codes: number[] = [];
    for (const secret of ["a", "b", "c", "right", "right"]) codes.push(await ask(nameless, secret));
    expect(codes).toEqual([401, 401, 429, 429, 429]);
    const named = agent.fetch({ remoteAddress: () => "192.0.2.7" });
    expect([await ask(named, "right"), await ask(named, "a")]).toEqual([200, 401]);
    expect(log.filter(({ message = "" }) => message.includes("remoteAddress"))).toHaveLength(1);
    await agent.close();
  });

  it("failed attempts do not count calls without credentials, which ask what is wanted", async () => {
    await using server = await serveLimited({ ...proxied, rate: { failedAttempts: "1/day" } });
    expect(await statuses(server, undefined, undefined, undefined, "right")).toEqual([401, 401, 401, 200]);
  });

  it("failed attempts are limited by default, with authenticate too, unless they are not to be", async () => {
    const authenticate = () => {
      throw new Error("wrong");
    };
    await using server = await serveLimited({ authenticate });
    await using open = await serveLimited({ authenticate, rate: { failedAttempts: false } });
    const counts = new Map<number, number>();
    for (let tries = 0; tries < 302; tries += 1) {
      const { status } = await send(server);
      counts.set(status, (counts.get(status) ?? 0) + 1);
      expect((await send(open)).status).toBe(401);
    }
    // All but the last two, unless a new window began meanwhile.
    expect(counts.get(401)).toBeGreaterThanOrEqual(300);
    expect([...counts.keys()].toSorted()).toEqual(counts.get(401) === 302 ? [401] : [401, 429]);
  });
});
