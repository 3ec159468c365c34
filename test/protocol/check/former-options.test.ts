import { once } from "node:events";
import {
  type AgentOptions,
  Client,
  type ClientOptions,
  createAgent,
  gateway,
  type HostOptions,
  reply,
  serve,
} from "trivium";
import { connectTo } from "trivium/testing";
import { describe, expect, it } from "vitest";
import * as formerOptions from "../../../src/protocol/check/former-options.js";

const { removedOptions, renamedOptions } = formerOptions;
// A copy of its own: it warns once per name and process, and other tests that give old names may share the process.
const copy = new URL("../../../src/protocol/check/former-options.ts?copy", import.meta.url).href;
const { renameOptions }: typeof formerOptions = await import(copy);

const token = { httpAuthSecurityScheme: { scheme: "Bearer" } };
const host: HostOptions = {
  authenticate: () => ({ owner: "o" }),
  declares: { schemes: { token } },
  limits: { wakePauseMs: 5_000 },
};
const options: AgentOptions = {
  card: { name: "Former", description: "Is given options of 0.1", version: "1" },
  agent: async () => reply("hello"),
  push: { allow: "loopback", every: "event" },
  ...host,
};

describe.each(renamedOptions)("the option $before of 0.1", (row) => {
  const { within, before, now } = row;
  const at = (members: object): object => (within === "" ? members : { [within]: members });
  const [old, present] = "values" in row ? (Object.entries(row.values)[0] ?? []) : [7, 7];

  it(`a former option is read as ${now}, with one warning`, async () => {
    const warnings: (Error & { code?: string })[] = [];
    const note = (warning: Error): unknown => warnings.push(warning);
    process.on("warning", note);
    const first = once(process, "warning");
    expect(renameOptions("serve()", { port: 0, ...at({ [before]: old }) })).toEqual({
      port: 0,
      ...at({ [now]: present }),
    });
    renameOptions("createAgent()", at({ [before]: old }));
    await first;
    await new Promise(setImmediate);
    process.off("warning", note);
    expect(warnings).toMatchObject([{ name: "DeprecationWarning", code: "TRIVIUM_RENAMED_OPTION" }]);
    const path = within === "" ? before : `${within}.${before}`;
    expect(warnings[0]?.message).toBe(
      `serve(): the option ${path} is called ${now} since 0.2; its old name is refused from 0.3 on`,
    );
  });

  it("a former option is refused beside its new name", () => {
    const both = { agents: { "/a": at({ [before]: old, [now]: present }) } };
    const path = `agents["/a"].${within === "" ? "" : `${within}.`}`;
    expect(() => renameOptions("serve()", both)).toThrow(
      new TypeError(`serve(): ${path}${before} and ${path}${now} are one option: take out ${before}, its name in 0.1`),
    );
  });
});

describe("names of 0.1 are taken by", () => {
  it("names of 0.1 are taken by serve()", async () => {
    await using server = await serve({ ...options, port: 0, logger: false });
    expect(server.card.securitySchemes["token"]).toBeDefined();
  });

  it("names of 0.1 are taken by serve() for its agents, and by agents.set()", async () => {
    await using server = await serve({ agents: { "/a": options }, port: 0, logger: false });
    await server.agents.set("/b", options);
    const cards = [...server.agents].map(({ card }) => Object.keys(card.securitySchemes));
    expect(cards).toEqual([["token"], ["token"]]);
  });

  it("names of 0.1 are taken by createAgent()", async () => {
    await using agent = await createAgent({ ...options, logger: false });
    expect(agent.card.securitySchemes["token"]).toBeDefined();
  });

  it("names of 0.1 are taken by connectTo()", async () => {
    await using client = await connectTo(options.agent, {
      authenticate: host.authenticate,
      declares: host.declares,
      logger: false,
    });
    expect(client.card.securitySchemes["token"]).toBeDefined();
  });

  it("names of 0.1 are taken by gateway()", async () => {
    await using server = await serve({ ...options, port: 0, logger: false });
    await using front = await gateway({ ...host, upstream: server.url, port: 0, logger: false });
    expect(front.card.securitySchemes["token"]).toBeDefined();
  });
});

describe("an option that is a constant now is refused with its value", () => {
  it.each(Object.entries(removedOptions))(
    "the option %s of a server, which is a constant now, is refused with its value",
    async (name, hint) => {
      const limits: object = { [name]: 1 };
      await expect(serve({ ...options, port: 0, limits })).rejects.toThrow(
        new TypeError(`serve(): limits.${name} cannot be given: ${hint}`),
      );
    },
  );

  it.each([
    ["probeTimeoutMs", "10 s"],
    ["snapshotTimeoutMs", "5 s"],
  ])("the option %s of a client, which is a constant now, is refused with its value", async (name, value) => {
    const limits: ClientOptions["limits"] & object = { [name]: 1 };
    await expect(Client.connect("http://127.0.0.1:9", { limits })).rejects.toThrow(
      new TypeError(`Client.connect(): limits.${name} cannot be given: it is fixed at ${value} since 0.2`),
    );
  });
});

it("a client's connection still has its skipped interfaces under their name in 0.1", async () => {
  await using client = await connectTo(options.agent);
  expect(client.connection?.passedOver).toBe(client.connection?.skipped);
  expect(Object.keys(client.connection ?? {})).not.toContain("passedOver");
});
