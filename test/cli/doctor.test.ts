import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, request } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { A2AError, type AgentServer, artifact, completed, type ServeOptions, serve, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAuthority } from "../support/certificates.js";
import { trivium, triviumAlone } from "../support/command.js";
import { damagePage } from "../support/damage.js";
import { fixedPort } from "../support/fixed-port.js";
import { hasPostgres, type SharedPostgres, sharedPostgres } from "../support/postgres.js";

const card = { name: "Checked", description: "Is checked", version: "1.2.3" };

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "trivium-doctor-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface Seen {
  readonly check: string;
  readonly result: string;
  readonly seen: string;
  readonly remedy?: string;
}

/** What `trivium doctor … --json` finds, by the name of the check. */
async function doctor(args: readonly string[], run = trivium, env = {}) {
  const { code, stdout, stderr } = await run(["doctor", ...args, "--json"], { env });
  expect(stderr).toBe("");
  const { ok, findings } = JSON.parse(stdout) as { readonly ok: boolean; readonly findings: readonly Seen[] };
  expect({ ok, code }).toEqual(ok ? { ok: true, code: 0 } : { ok: false, code: 1 });
  return { ok, of: (check: string) => findings.find((each) => each.check === check), findings };
}

/** Starts a server of any kind for the length of a test. */
async function listening<S extends Server>(server: S): Promise<{ readonly port: number } & AsyncDisposable> {
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An agent whose answer takes a second and a half. */
function serveSlow(options: Partial<ServeOptions> = {}): Promise<AgentServer> {
  return serve({
    card,
    port: 0,
    drainMs: 0,
    ...options,
    async *agent() {
      yield working();
      for (let part = 0; part < 5; part++) {
        await pause(300);
        yield artifact(`${part}`, { artifactId: "parts", append: part > 0 });
      }
      yield completed();
    },
  });
}

describe.concurrent("trivium doctor checks the machine", () => {
  it("trivium doctor checks Node, memory and a free port, in lines for people", async () => {
    const port = await fixedPort();
    const { code, stdout, stderr } = await triviumAlone(["doctor", "--port", String(port)], {
      env: { TRIVIUM_STORE: "" },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(`ok      node: ${process.version}\n`);
    expect(stdout).toContain(`ok      port: ${port} is free\n`);
    expect(stdout).toMatch(/^(?:ok|warning) +memory: the heap may grow to \d+ MiB/m);
  });

  it("trivium doctor checks a port that an agent has, and one that another program has", async () => {
    await using agent = await serveSlow();
    await using other = await listening(createHttpServer((_, response) => response.writeHead(404).end()));
    expect((await doctor(["--port", String(agent.port)])).of("port")).toMatchObject({
      result: "ok",
      seen: `${agent.port} is taken by a running agent: trivium doctor http://127.0.0.1:${agent.port} checks it`,
    });
    expect((await doctor(["--port", String(other.port)])).of("port")).toMatchObject({
      result: "warning",
      remedy: expect.stringContaining("choose another port"),
    });
  });

  it("trivium doctor reports wrong usage", async () => {
    expect((await trivium(["doctor", "ftp://agent.example"])).code).toBe(2);
    expect((await trivium(["doctor", "--idle", "soon"])).code).toBe(2);
    expect((await trivium(["doctor", "--store", "mysql://db"])).code).toBe(2);
  });
});

describe.concurrent("trivium doctor checks a database", () => {
  let files = 0;
  const migrated = async (): Promise<string> => {
    const file = join(home, `${++files}.db`);
    await trivium(["db", "migrate", "--store", file]);
    return file;
  };
  const change = (file: string, sql: string): void => {
    const db = new DatabaseSync(file);
    db.exec(sql);
    db.close();
  };

  it("trivium doctor checks a database that is up to date", async () => {
    const { ok, of } = await doctor(["--store", await migrated()]);
    expect(ok).toBe(true);
    expect(of("store schema")).toMatchObject({ result: "ok", seen: expect.stringMatching(/^version \d+$/) });
  });

  it("trivium doctor checks a database with an older schema, with none, and with a newer release's", async () => {
    const file = await migrated();
    change(file, "delete from trivium_schema where version = (select max(version) from trivium_schema)");
    expect((await doctor(["--store", file])).of("store schema")).toMatchObject({
      result: "failed",
      seen: expect.stringMatching(/^version \d+, this release needs \d+$/),
      remedy: "back the database up, then run trivium db migrate",
    });
    const empty = join(home, "empty.db");
    writeFileSync(empty, "");
    expect((await doctor(["--store", empty])).of("store schema")?.seen).toBe("the database has no tables yet");
    const newer = await migrated();
    change(newer, "insert into trivium_schema (version, applied_at) values (999, 0)");
    expect((await doctor(["--store", newer])).of("store schema")).toMatchObject({
      result: "failed",
      remedy: "install the release that migrated the database, or a newer one",
    });
  });

  it("trivium doctor checks a database whose processes have leases of one length, or of several", async () => {
    const file = await migrated();
    expect((await doctor(["--store", file])).of("store leases")).toBeUndefined();
    const lease = (name: string, ttlMs: number): void =>
      change(file, `insert into trivium_instances (name, expires_at, ttl_ms) values ('${name}', 9e15, ${ttlMs})`);
    lease("one", 15_000);
    expect((await doctor(["--store", file])).of("store leases")).toMatchObject({
      result: "ok",
      seen: "processes on the store have leases of 15 s",
    });
    lease("two", 6_000);
    expect((await doctor(["--store", file])).of("store leases")).toMatchObject({
      result: "warning",
      seen: "processes on the store have leases of different length: 6 s, 15 s",
      remedy: "give all of them the same instanceTtlMs, or tasks of one that lives may be taken over",
    });
  });

  it("trivium doctor finds damaged pages in a SQLite file, and leaves the file as it is", async () => {
    const file = await migrated();
    const filling = new DatabaseSync(file);
    filling.exec(`insert into trivium_instances (name, expires_at)
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000) select hex(randomblob(64)), i from n`);
    filling.close();
    expect((await doctor(["--store", file])).of("store pages")).toMatchObject({
      result: "ok",
      seen: expect.stringMatching(/^no damage in \d+\.\d MiB$/),
    });
    damagePage(file, "trivium_instances");
    damagePage(file, "trivium_tasks_id");
    const before = readFileSync(file);
    const { ok, of } = await doctor(["--store", file]);
    expect(ok).toBe(false);
    expect(of("store pages")).toMatchObject({
      result: "failed",
      seen: expect.stringMatching(/^damaged: .*page/),
      remedy: expect.stringMatching(/restore a backup/),
    });
    expect(of("store pages")?.seen.split("; ").length).toBeLessThanOrEqual(11);
    expect(readFileSync(file)).toEqual(before);
  });

  it("trivium doctor checks the pages of a database for a limited time", async () => {
    const file = await migrated();
    expect((await doctor(["--store", file, "--store-check", "1ms"])).of("store pages")).toMatchObject({
      result: "warning",
      seen: expect.stringMatching(/^\d+\.\d MiB could not be checked within 0\.001 s$/),
      remedy: expect.stringContaining("--store-check"),
    });
    expect((await doctor(["--store", file, "--store-check", "0s"])).of("store pages")?.result).toBe("skipped");
  });

  it("trivium doctor says what to do with a file that SQL run by hand has made in part", async () => {
    const file = await migrated();
    const broken = new DatabaseSync(file);
    broken.exec("delete from trivium_schema");
    broken.close();
    expect((await doctor(["--store", file])).of("store")).toMatchObject({
      result: "failed",
      seen: expect.stringContaining("tables and no schema version"),
      remedy: expect.stringContaining("restore the backup"),
    });
  });

  it("trivium doctor checks a database that is missing or not reachable", async () => {
    const { of } = await doctor(["--store", join(home, "missing.db")]);
    expect(of("store")).toMatchObject({ result: "failed", seen: expect.stringContaining("there is no such file") });
    const away = await doctor(["--store", "postgres://user:secret@127.0.0.1:1/tasks"]);
    expect(away.of("store")).toMatchObject({ result: "failed", seen: expect.stringContaining("ECONNREFUSED") });
    expect(JSON.stringify(away.findings)).not.toContain("secret");
    const garbage = join(home, "garbage.db");
    writeFileSync(garbage, "no database ".repeat(1000));
    expect((await doctor(["--store", garbage])).of("store")).toMatchObject({
      result: "failed",
      seen: expect.stringContaining("is damaged or not a database"),
      remedy: "check the path; if it is the right one, restore a backup",
    });
  });

  let server: SharedPostgres | undefined;
  beforeAll(async () => {
    if (hasPostgres) server = await sharedPostgres();
  }, 90_000);

  it.runIf(hasPostgres)("trivium doctor checks a database of PostgreSQL, with its clock", async () => {
    const url = (await server?.createDatabase()) ?? "";
    expect((await doctor(["--store", url])).of("store schema")?.result).toBe("failed");
    await trivium(["db", "migrate", "--store", url]);
    const { ok, of } = await doctor(["--store", url]);
    expect(ok).toBe(true);
    expect(of("store clock")).toMatchObject({ result: "ok", seen: expect.stringMatching(/^this machine is \d/) });
  });

  it.runIf(hasPostgres)(
    "trivium doctor checks a database of PostgreSQL whose role has no rights or may only read",
    async () => {
      const url = (await server?.createDatabase()) ?? "";
      await trivium(["db", "migrate", "--store", url]);
      const db = new pg.Client(url);
      await db.connect();
      const role = `poor_${Date.now()}`;
      await db.query(`create role ${role} login password 'poor'`);
      await db.end();
      const asRole = new URL(url);
      [asRole.username, asRole.password] = [role, "poor"];
      expect((await doctor(["--store", asRole.href])).of("store")).toMatchObject({
        result: "failed",
        remedy: expect.stringMatching(/^grant the role .+SELECT, INSERT, UPDATE and DELETE/),
      });
    },
  );
});

describe.concurrent("trivium doctor checks an agent", () => {
  it("trivium doctor checks an agent that has no fault", async () => {
    await using agent = await serveSlow();
    const { findings } = await doctor([agent.url, "--send", "Count.", "--idle", "200ms"]);
    expect(findings.filter(({ result }) => result !== "ok")).toEqual([]);
    expect(findings.map(({ check }) => check)).toEqual([
      ...["readiness", "card", "clock", "interface JSONRPC 1.0", "interface GRPC 1.0", "interface HTTP+JSON 1.0"],
      ...["interface JSONRPC 0.3", "interface GRPC 0.3", "interface HTTP+JSON 0.3"],
      ...["http/2", "grpc trailers", "idle stream", "streaming"],
    ]);
  });

  it("trivium doctor checks an agent without sending it anything unless asked", async () => {
    await using agent = await serveSlow();
    const { ok, of } = await doctor([agent.url, "--idle", "200ms"]);
    expect(ok).toBe(true);
    expect(of("streaming")).toMatchObject({ result: "skipped", remedy: expect.stringContaining("--send") });
  });

  it("trivium doctor checks an agent by the list of its server, where there is no card", async () => {
    const agent = async () => completed();
    const agents = { "/weather": { card, agent }, "/travel": { card, agent } };
    const options = { port: 0, drainMs: 0, logger: false, agents, basePath: "/api" } as const;
    await using listing = await serve({ ...options, catalogue: true });
    const { of } = await doctor([listing.url]);
    expect(of("card")).toEqual({
      check: "card",
      result: "failed",
      seen: `no agent card at ${listing.url}, its server has several agents`,
      remedy: `trivium doctor ${listing.url}/weather\ntrivium doctor ${listing.url}/travel`,
    });
    const { stdout } = await trivium(["doctor", `${listing.url}/none`]);
    expect(stdout).toContain("its server has several agents");
    expect(stdout).toContain(
      `\n        -> trivium doctor ${listing.url}/weather\n           trivium doctor ${listing.url}/travel\n`,
    );
    await using silent = await serve(options);
    expect((await doctor([silent.url])).of("card")).toMatchObject({
      result: "failed",
      seen: expect.stringContaining("404"),
      remedy: expect.stringMatching(
        /; a server of several agents has each below its path, and lists them with catalogue: true$/,
      ),
    });
  });

  it("trivium doctor checks an agent that is not there, and one that wants credentials", async () => {
    const { of } = await doctor(["http://127.0.0.1:1"]);
    expect(of("card")).toMatchObject({ result: "failed", seen: expect.stringContaining("ECONNREFUSED") });
    await using agent = await serveSlow({
      authenticate: ({ header }) => {
        if (header("authorization") === "Bearer t0") return { owner: "anna" };
        throw new A2AError("unauthenticated", "who are you?");
      },
    });
    const check = "interface HTTP+JSON 1.0";
    expect((await doctor([agent.url, "--idle", "200ms"])).of(check)).toMatchObject({
      result: "warning",
      remedy: "give --bearer, --credential or --header",
    });
    expect((await doctor([agent.url, "--idle", "200ms", "--bearer", "t0"])).of(check)?.result).toBe("ok");
  });

  it("trivium doctor checks an agent behind a proxy of HTTP/1.1 that buffers", async () => {
    await using agent = await serveSlow();
    await using proxy = await listening(
      createHttpServer((incoming, outgoing) => {
        const { method, url, headers } = incoming;
        const passed = request({ host: "127.0.0.1", port: agent.port, method, path: url, headers }, async (answer) => {
          const pieces: Buffer[] = [];
          for await (const piece of answer) pieces.push(piece);
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(pieces));
        });
        incoming.pipe(passed);
      }),
    );
    const { of } = await doctor([`http://127.0.0.1:${proxy.port}`, "--send", "Count."]);
    expect(of("interface JSONRPC 1.0")?.result).toBe("ok");
    expect(of("interface GRPC 1.0")).toMatchObject({ result: "failed", remedy: expect.stringContaining("grpc_pass") });
    expect(of("http/2")).toMatchObject({ result: "failed", remedy: expect.stringContaining("publicGrpc") });
    expect(of("streaming")).toMatchObject({
      result: "failed",
      seen: expect.stringMatching(/^the stream is buffered: events of [1-9]\.\d s came within 0\.\d s$/),
      remedy: expect.stringContaining("proxy_buffering off"),
    });
  });

  it("trivium doctor checks an agent behind a proxy that closes idle connections", async () => {
    await using agent = await serveSlow();
    await using proxy = await listening(
      createServer((client) => {
        const server = connect(agent.port, "127.0.0.1");
        client.pipe(server).pipe(client);
        for (const socket of [client, server]) socket.on("error", () => {});
        client.setTimeout(1500, () => {
          client.destroy();
          server.destroy();
        });
      }),
    );
    const { of } = await doctor([`http://127.0.0.1:${proxy.port}`, "--idle", "60s"]);
    expect(of("grpc trailers")?.result).toBe("ok");
    expect(of("idle stream")).toMatchObject({
      result: "failed",
      seen: expect.stringMatching(/^was closed after \d s$/),
      remedy: expect.stringContaining("grpc_read_timeout"),
    });
  });

  it("trivium doctor checks an agent whose gRPC is behind a proxy that drops trailers", async () => {
    await using inner = await serveSlow();
    const behind = connectHttp2(inner.url);
    const dropping = createHttp2Server().on("stream", (stream, { ":authority": _, ...headers }) => {
      const passed = behind.request(headers);
      passed.on("response", ({ "grpc-status": _, "grpc-message": __, ...answer }) => stream.respond(answer));
      for (const each of [passed, stream]) each.on("error", () => {});
      stream.pipe(passed).pipe(stream);
    });
    await using proxy = await listening(dropping);
    await using agent = await serveSlow({ publicGrpc: `127.0.0.1:${proxy.port}` });
    const { of } = await doctor([agent.url, "--idle", "200ms"]);
    behind.destroy();
    expect(of("http/2")?.result).toBe("ok");
    expect(of("grpc trailers")).toMatchObject({ result: "failed", remedy: expect.stringContaining("trailers") });
    expect(of("interface GRPC 1.0")?.result).toBe("failed");
    expect(of("interface JSONRPC 1.0")?.result).toBe("ok");
  });
});

describe.concurrent("trivium doctor checks what is between", () => {
  it("trivium doctor checks a proxy that breaks streams, which a client would resume", async () => {
    await using agent = await serveSlow();
    await using proxy = await listening(
      createServer((client) => {
        const server = connect(agent.port, "127.0.0.1");
        for (const socket of [client, server]) socket.on("error", () => {});
        client.pipe(server);
        server.on("data", (data: Buffer) => {
          client.write(data);
          if (data.includes('"1"')) for (const socket of [client, server]) socket.destroy();
        });
      }),
    );
    const { of } = await doctor([`http://127.0.0.1:${proxy.port}`, "--idle", "200ms", "--send", "Count."]);
    expect(of("streaming")).toMatchObject({
      result: "warning",
      seen: expect.stringMatching(/^the stream broke after \d events: /),
      remedy: expect.stringContaining("proxy_read_timeout"),
    });
  });

  it.each([
    [5_000, "warning"],
    [120_000, "failed"],
  ] as const)("trivium doctor checks a clock that is %d ms behind", async (behindMs, result) => {
    await using agent = await serveSlow({ bindings: ["JSONRPC"] });
    await using proxy = await listening(
      createHttpServer((incoming, outgoing) => {
        const { method, url, headers } = incoming;
        const passed = request({ host: "127.0.0.1", port: agent.port, method, path: url, headers }, (answer) => {
          const date = new Date(Date.now() - behindMs).toUTCString();
          answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, date }));
        });
        incoming.pipe(passed);
      }),
    );
    expect((await doctor([`http://127.0.0.1:${proxy.port}`])).of("clock")).toMatchObject({
      result,
      seen: expect.stringMatching(/^this machine is [\d.]+ s ahead of the server$/),
      remedy: expect.stringContaining("NTP"),
    });
  });

  it("trivium doctor checks an address for gRPC that closes every connection", async () => {
    await using closing = await listening(createServer((socket) => socket.end()));
    await using agent = await serveSlow({ publicGrpc: `127.0.0.1:${closing.port}` });
    expect((await doctor([agent.url])).of("http/2")).toMatchObject({
      result: "failed",
      remedy: expect.stringContaining("publicGrpc"),
    });
  });
});

describe.concurrent("trivium doctor checks TLS", () => {
  const localhost = { type: "dns", value: "localhost" } as const;
  const day = 86_400_000;
  let authorities = 0;

  async function served(names: readonly { type: "dns"; value: string }[], notAfter?: Date) {
    const authority = await createAuthority("doctor", notAfter);
    const { cert, key } = await authority.issue("agent", ...names);
    const file = join(home, `ca-${++authorities}.pem`);
    writeFileSync(file, authority.ca);
    const agent = await serveSlow({ tls: { cert, key }, host: "127.0.0.1" });
    const url = `https://localhost:${agent.port}`;
    return {
      url,
      // A machine may set authorities for gRPC alone.
      trusted: { NODE_EXTRA_CA_CERTS: file, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: "" },
      [Symbol.asyncDispose]: () => agent.close(),
    };
  }

  it("trivium doctor checks TLS whose certificate is good", async () => {
    await using agent = await served([localhost], new Date(Date.now() + 90 * day));
    const { findings } = await doctor([agent.url, "--idle", "200ms"], triviumAlone, agent.trusted);
    expect(findings.filter(({ result }) => result === "failed" || result === "warning")).toEqual([]);
    expect(findings.slice(0, 3).map(({ check }) => check)).toEqual(["tls chain", "tls names", "tls expiry"]);
  });

  it("trivium doctor checks TLS of an agent that asks for certificates", async () => {
    const { ca, issue } = await createAuthority("doctor", new Date(Date.now() + 90 * day));
    const [own, caller] = [await issue("agent", localhost), await issue("caller")];
    const pem = (name: string, text: string): string => {
      writeFileSync(join(home, name), text);
      return join(home, name);
    };
    const trusting = ["--ca", pem("authority.pem", ca), "--idle", "200ms"];
    const presenting = ["--cert", pem("caller.pem", caller.cert), "--key", pem("caller.key", caller.key)];
    const tls = { ...own, ca, requestCert: true, rejectUnauthorized: true };
    await using agent = await serveSlow({ tls, host: "127.0.0.1" });
    const url = `https://localhost:${agent.port}`;
    const { findings, of } = await doctor([url, ...trusting, ...presenting]);
    expect(findings.filter(({ result }) => result === "failed" || result === "warning")).toEqual([]);
    for (const check of ["clock", "http/2", "grpc trailers", "idle stream"]) expect(of(check)?.result).toBe("ok");
    expect((await doctor([url, ...trusting])).of("card")).toMatchObject({
      result: "failed",
      remedy: expect.stringContaining("--cert and --key"),
    });
  });

  it("trivium doctor checks TLS that is not there, and an agent that speaks no TLS", async () => {
    const remedyAt = async (url: string) => (await doctor([url])).of("tls")?.remedy;
    expect(await remedyAt("https://127.0.0.1:1")).toContain("check that the server runs");
    expect(await remedyAt("https://nothing.invalid")).toContain("check the name in the URL");
    await using plain = await listening(createHttpServer());
    expect(await remedyAt(`https://127.0.0.1:${plain.port}`)).toContain("speaks TLS");
  });

  it("trivium doctor checks certificates that expire, have other names, or an unknown authority", async () => {
    await using expired = await served([localhost], new Date(Date.now() - day / 2));
    const ofExpired = await doctor([expired.url], triviumAlone, expired.trusted);
    expect(ofExpired.of("tls expiry")).toMatchObject({
      result: "failed",
      seen: expect.stringContaining("expired on"),
    });
    // Each finding that is not ok says how to mend it.
    expect(ofExpired.findings.filter(({ result, remedy }) => result !== "ok" && remedy === undefined)).toEqual([]);
    await using other = await served([{ type: "dns", value: "agent.example" }]);
    const { of } = await doctor([other.url], triviumAlone, other.trusted);
    expect(of("tls expiry")).toMatchObject({ result: "warning" });
    expect(of("tls names")).toMatchObject({
      result: "failed",
      seen: "the certificate is not for localhost, but for DNS:agent.example",
    });
    expect((await doctor([other.url])).of("tls chain")).toMatchObject({ result: "failed" });
  });
});
