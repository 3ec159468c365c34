import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT } from "jose";
import { type Agent, type AuthOptions, Client, type Principal, park, serve, working } from "trivium";
import { bearerJwt } from "trivium/auth";
import { sqliteStore } from "trivium/sqlite";
import { expect, it } from "vitest";
import { noop } from "../../../src/protocol/async/noop.js";
import { say, taskOf } from "../../support/say.js";
import { overEveryWire, startAgent } from "../../support/serve-agent.js";

// Who called, in a turn that a later process starts.

const key = new TextEncoder().encode("a secret of at least thirty-two bytes");
const issuer = "https://id.example";

const token = (claims: Record<string, unknown>): Promise<string> =>
  new SignJWT({ scope: "read write", ...claims })
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer(issuer)
    .setAudience("weather")
    .setSubject("alice")
    .setExpirationTime("1h")
    .sign(key);

const card = { name: "Tested", description: "Does what the test says", version: "1.0.0" };
const auth: AuthOptions = {
  schemes: { user: bearerJwt({ issuer, audience: "weather", key, algorithms: ["HS256"] }) },
  keepClaims: ["team"],
};

overEveryWire(
  (_, wire) => {
    it("a task keeps the claims of its caller over a restart, and no token", async ({ expect }) => {
      const folder = await mkdtemp(join(tmpdir(), "claims-"));
      const path = join(folder, "tasks.db");
      const principals: Principal[] = [];
      let id = "";
      const store = sqliteStore({ path });
      const agent: Agent = async function* ({ principal, taskId }) {
        principals.push(principal);
        id = taskId;
        yield working();
        yield park();
      };
      const bearer = await token({ team: "north", mail: "alice@example" });
      {
        await using first = await startAgent(wire, { auth, store, agent, drainMs: 10_000 });
        const answer = first.transport.sendMessage(say("go"), { headers: { authorization: `Bearer ${bearer}` } });
        answer.catch(noop);
        await expect.poll(() => principals.length).toBe(1);
      }
      const owner = `${issuer}#alice`;
      await using second = await serve({ auth, store, agent, card, port: 0, logger: false });
      await expect.poll(() => second.tasks.wake(id, undefined, { owner })).toBe(true);
      await expect.poll(() => principals.length).toBe(2);
      expect(principals[0]).toMatchObject({
        scopes: ["read", "write"],
        claims: { team: "north", mail: "alice@example" },
      });
      expect(principals[1]).toEqual({
        ...{ owner, tenant: "", scheme: "user" },
        scopes: ["read", "write"],
        claims: { team: "north" },
      });
      const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "latin1")));
      expect(files.join("")).toContain("north");
      expect(files.join("")).not.toMatch(/eyJ|alice@example/);
    });
  },
  { concurrent: true },
);

it.each([{}, { keepClaims: false }])("a task knows owner and tenant alone after a restart with %j", async (more) => {
  const folder = await mkdtemp(join(tmpdir(), "claims-"));
  const store = () => sqliteStore({ path: join(folder, "tasks.db") });
  const plain = { ...auth, keepClaims: undefined, ...more };
  const principals: Principal[] = [];
  const agent: Agent = async function* ({ principal }) {
    principals.push(principal);
    yield working();
    yield park();
  };
  const headers = { authorization: `Bearer ${await token({ team: "north" })}` };
  const body = say("go", { configuration: { returnImmediately: true } });
  let id = "";
  {
    await using first = await serve({ auth: plain, store: store(), agent, card, port: 0, logger: false });
    await using client = await Client.connect(first.url, { headers });
    id = taskOf(await client.operations.sendMessage(body, {})).id;
  }
  await using second = await serve({ auth: plain, store: store(), agent, card, port: 0, logger: false });
  const owner = `${issuer}#alice`;
  await expect.poll(() => second.tasks.wake(id, undefined, { owner })).toBe(true);
  await expect.poll(() => principals.length).toBe(2);
  expect(principals[1]).toEqual({ owner, tenant: "" });
});

overEveryWire((_, wire) => {
  it("the principal of a known token is the same object in every call, and cannot be changed", async () => {
    const principals: Principal[] = [];
    await using served = await startAgent(wire, {
      auth,
      async *agent({ principal }) {
        principals.push(principal);
        yield working();
      },
    });
    const headers = { authorization: `Bearer ${await token({ roles: ["cook"] })}` };
    for (const text of ["one", "two", "three"]) await served.transport.sendMessage(say(text), { headers });
    const [, second, third] = principals;
    expect(second).toBe(third);
    const claims = second?.["claims"];
    for (const value of [second, claims, second?.["scopes"]]) expect(Object.isFrozen(value)).toBe(true);
    expect(() => Object.assign(claims ?? {}, { roles: ["admin"] })).toThrow(TypeError);
    expect(claims).toMatchObject({ roles: ["cook"] });
  });
});
