import { request } from "node:http";
import { type Agent, Client, completed, type ServeAgentsOptions, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";

const agent: Agent = async () => completed();
const one = (name: string, more: object = {}) => ({
  card: { name, description: name, version: "1.0.0" },
  agent,
  ...more,
});

const keyed = (wanted: string) => ({
  schemes: { key: apiKey({ in: "header", name: "x-key", verify: (key) => (key === wanted ? key : undefined) }) },
});

const serveAll = (options: Partial<ServeAgentsOptions> = {}) =>
  serve({ port: 0, drainMs: 0, logger: false, agents: { "/weather": one("W"), "/travel": one("T") }, ...options });

/** The paths of every binding below an address, and the card's. */
const paths = [
  ["GET", "/.well-known/agent-card.json"],
  ["POST", "/json-rpc"],
  ["POST", "/message:send"],
  ["GET", "/tasks/x"],
  ["POST", "/v1/message:send"],
  ["POST", "/lf.a2a.v1.A2AService/SendMessage"],
  ["POST", ""],
] as const;

async function textsBelow(base: string, headers: Readonly<Record<string, string>> = {}) {
  const answers = paths.map(async ([method, path]) => {
    const body = method === "POST" ? { body: "{}" } : {};
    const response = await fetch(`${base}${path}`, {
      ...{ method, ...body },
      headers: { "content-type": "application/json", ...headers },
    });
    return `${response.status} ${await response.text()}`;
  });
  return [...new Set(await Promise.all(answers))];
}

describe("a mistyped path", () => {
  it("a mistyped path is answered with the address of the list that was probably meant, in every binding", async () => {
    await using server = await serveAll({ catalogue: true });
    expect(await textsBelow(`${server.url}/weater`)).toEqual(["404 no agent at /weater: did you mean /weather?\n"]);
    expect(await textsBelow(`${server.url}/nothing-like-it`)).toEqual(["404 no agent at /nothing-like-it\n"]);
    const long = "w".repeat(2_000);
    expect(await textsBelow(`${server.url}/${long}`)).toEqual([`404 no agent at /${long.slice(0, 63)}\n`]);
  });

  it("a mistyped path is answered so below the base path, and beside an agent at the root", async () => {
    const agents = { "/": one("Root"), "/weather": one("W") };
    await using server = await serveAll({ catalogue: true, agents, basePath: "/api" });
    const url = `http://127.0.0.1:${server.port}`;
    expect(await textsBelow(`${url}/api/weater`)).toEqual(["404 no agent at /weater: did you mean /weather?\n"]);
    expect(await textsBelow(`${url}/api/nothing-like-it`)).toEqual(["404 Not Found"]);
    expect(await textsBelow(`${url}/weater`)).toEqual(["404 Not Found"]);
  });

  it("a mistyped path gets no address where the server has no list", async () => {
    await using server = await serveAll();
    expect(await textsBelow(`${server.url}/weater`)).toEqual(["404 no agent at /weater\n"]);
    await using alone = await serve({ ...one("Alone"), port: 0, drainMs: 0, logger: false, basePath: "/weather" });
    expect(await textsBelow(`http://127.0.0.1:${alone.port}/weater`)).toEqual(["404 Not Found"]);
  });

  it("the answer to a mistyped path names only agents that let its caller in", async () => {
    await using server = await serveAll({
      ...{ catalogue: true, auth: keyed("a") },
      agents: { "/weather": one("W"), "/wether": one("Own", { auth: keyed("b") }) },
    });
    const below = (headers?: Readonly<Record<string, string>>) => textsBelow(`${server.url}/weter`, headers);
    expect(await below()).toEqual(["404 no agent at /weter\n"]);
    expect(await below({ "x-key": "a" })).toEqual(["404 no agent at /weter: did you mean /weather?\n"]);
    expect(await below({ "x-key": "b" })).toEqual(["404 no agent at /weter: did you mean /wether?\n"]);
    const response = await fetch(`${server.url}/weter`, { headers: { "x-key": "a" } });
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("a mistyped path counts as a request of its address, and names no agent once there are too many", async () => {
    await using server = await serveAll({ catalogue: true, rate: { address: { requests: "1/day" } } });
    const ask = async () => (await fetch(`${server.url}/weater`)).text();
    expect(await ask()).toBe("no agent at /weater: did you mean /weather?\n");
    expect(await ask()).toBe("no agent at /weater\n");
  });

  it.each([undefined, { "/": one("Root"), "/weather": one("W") }])(
    "a mistyped path names no agent to a page that has another name for this machine",
    async (agents) => {
      await using server = await serveAll({ catalogue: true, ...(agents && { agents }) });
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const headers = { host: "evil.example" };
        const options = { host: "127.0.0.1", port: server.port, path: "/weater", headers, agent: false };
        request(options, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on("error", reject)
          .end();
      });
      expect(status).toBe(421);
    },
  );

  it.each([
    [true, "no agent at /weater: the tenant of a request begins with the agent's name: did you mean /weather?"],
    [undefined, "no agent at /weater: the tenant of a request begins with the agent's name"],
  ])("a mistyped name in the tenant is answered over gRPC (list: %s)", async (catalogue, text) => {
    const agents = { "/weather": one("W"), "/water": one("Own", { auth: keyed("b") }) };
    await using server = await serveAll({ catalogue, agents });
    await using client = await Client.connect(`${server.url}/weather`, { prefer: ["GRPC"], retry: false });
    await client.send("hi");
    await expect(client.send("hi", { tenant: "weater" })).rejects.toMatchObject({
      ...{ code: "methodNotFound", message: text },
    });
  });
});
