import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { answerOf } from "../../../src/client/answer/answer.js";
import { Client } from "../../../src/client/node.js";
import { Client as WebClient } from "../../../src/client/web.js";
import { TaskState } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import type { VersionName } from "../../../src/version/versions.js";
import { itemsOf } from "../../support/items.js";
import { owned } from "../../support/owned.js";
import { allBindings, cardOf, interfaceAt } from "../support/cards.js";
import { countingAgent } from "../support/counting-agent.js";

const names = ["1.0", "0.3", "0.2", "0.1"] as const satisfies readonly VersionName[];
const uncached = { cardCache: false } as const;
const near = { allowPrivate: true };

/** The states of a stream's task, in order. */
const statesOf = (items: readonly StreamItem[]) =>
  items.flatMap(({ response: { payload } }) =>
    payload.case === "task" || payload.case === "statusUpdate" ? (payload.value.status?.state ?? []) : [],
  );

const whole = { state: "completed", artifacts: [{ text: "one two" }] };

describe.each(names)("an agent that serves only %s", (version) => {
  it.each([
    ["Node", Client],
    ["a browser", WebClient],
  ])(
    "an agent that serves only one version is called in it by a client of %s that knows only its address",
    async (_, factory) => {
      await using agent = await countingAgent({ versions: [version] });
      await using client = await factory.connect(agent.url, uncached);
      expect(await client.send("go")).toMatchObject(whole);
      expect(client.connection?.version).toBe(version);
      const items = await itemsOf(client.stream("go"));
      expect(statesOf(items).at(-1)).toBe(TaskState.COMPLETED);
      expect(agent.runs).toBe(2);
    },
  );

  it("an agent that serves only one version is called in no other", async () => {
    await using agent = await countingAgent({ versions: [version] });
    const versions = names.filter((name) => name !== version);
    await using client = await Client.connect(agent.url, { ...uncached, versions });
    // A card of the oldest version fits the next one too, so the client asks the agent.
    const reason = version === "0.1" ? 'no method "message/stream"' : "the option `versions` excludes the version";
    await expect(client.send("go")).rejects.toThrow(reason);
    expect(agent.runs).toBe(0);
  });

  it("an agent that serves only one version completes a conversation that asked for input", async () => {
    await using agent = await countingAgent({ versions: [version] });
    await using client = await Client.connect(agent.url, uncached);
    const question = await client.send("ask");
    expect(question.state).toBe("input-required");
    const { taskId: id } = question;
    expect(await client.send("go", { continue: question })).toMatchObject({ taskId: id, ...whole });
    expect(answerOf(await client.getTask({ id }))).toMatchObject({ taskId: id, ...whole });
  });
});

describe("an agent that serves every version", () => {
  it.each(names)("an agent that serves every version is called in %s by a client limited to it", async (version) => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { ...uncached, versions: [version] });
    expect(await client.send("go")).toMatchObject(whole);
    expect(client.connection?.version).toBe(version);
  });

  // Requirements: V03-CLI-1, V03-CLI-2
  it.each(allBindings.flatMap((binding) => (["1.0", "0.3"] as const).map((version) => [binding, version] as const)))(
    "an agent that serves every version is called over %s in %s",
    async (binding, version) => {
      await using agent = await countingAgent();
      await using client = await Client.connect(agent.url, { ...uncached, versions: [version], prefer: [binding] });
      expect(await client.send("go")).toMatchObject(whole);
      expect(client.connection).toMatchObject({ binding, version });
      expect(statesOf(await itemsOf(client.stream("go"))).at(-1)).toBe(TaskState.COMPLETED);
    },
  );

  it.each(allBindings)(
    "an agent that serves every version is called in the newest one, over %s when preferred",
    async (binding) => {
      await using agent = await countingAgent();
      await using client = await Client.connect(agent.url, { ...uncached, prefer: [binding] });
      await client.send("go");
      expect(client.connection).toMatchObject({ binding, version: "1.0", skipped: [] });
    },
  );

  it("an agent is called in the newest version the client allows, whatever binding it prefers", async () => {
    await using agent = await countingAgent();
    const versions = ["0.1", "0.3"] as const;
    await using client = await Client.connect(agent.url, { ...uncached, versions, prefer: ["GRPC"] });
    await client.send("go");
    expect(client.connection).toMatchObject({ binding: "GRPC", version: "0.3" });
  });
});

describe("a card that lists an unserved version", () => {
  // Requirements: V03-CLI-3
  it.each(["read", "send", "stream"] as const)(
    "a card that lists an unserved version leads to the next older one: first a %s",
    async (what) => {
      await using agent = await countingAgent({ versions: ["0.3"] });
      const card = cardOf(names.map((protocolVersion) => interfaceAt("JSONRPC", agent.url, { protocolVersion })));
      await using client = await Client.connect(card, near);
      if (what === "read")
        await expect(client.getTask({ id: "nobody" })).rejects.toMatchObject({ code: "taskNotFound" });
      if (what === "send") expect(await client.send("go")).toMatchObject(whole);
      if (what === "stream") expect(statesOf(await itemsOf(client.stream("go"))).at(-1)).toBe(TaskState.COMPLETED);
      expect(client.connection).toMatchObject({ version: "0.3", skipped: [{ version: "1.0" }] });
      expect(agent.runs).toBe(what === "read" ? 0 : 1);
    },
  );

  it("a card that lists an unserved version gives no interface to a client limited to that version", async () => {
    await using agent = await countingAgent({ versions: ["0.3"] });
    const card = cardOf(
      ["1.0", "0.3"].map((protocolVersion) => interfaceAt("JSONRPC", agent.url, { protocolVersion })),
    );
    await using client = await Client.connect(card, { ...near, versions: ["1.0"], retry: false });
    await expect(client.send("go")).rejects.toMatchObject({ code: "versionNotSupported" });
    expect(agent.runs).toBe(0);
  });
});

describe("a tenant", () => {
  it("a tenant rules out an interface whose version has no tenants", async () => {
    await using agent = await countingAgent({ tenants: ["north"] });
    const old = interfaceAt("JSONRPC", agent.url, { protocolVersion: "0.3", tenant: "north" });
    await using client = await Client.connect(cardOf([old]), near);
    await expect(client.send("go")).rejects.toThrow("its version cannot name the tenant");
    const both = cardOf([old, interfaceAt("HTTP+JSON", agent.url, { tenant: "north" })]);
    await using other = await Client.connect(both, near);
    expect(await other.send("go")).toMatchObject(whole);
    expect(agent.runs).toBe(1);
  });

  it("the tenant of a call is never dropped for a version without tenants", async () => {
    await using agent = await countingAgent({ versions: ["0.3"], tenants: ["north"] });
    await using client = await Client.connect(agent.url, uncached);
    await expect(client.send("go", { tenant: "north" })).rejects.toThrow("version 0.3 cannot name the tenant north");
    expect(agent.runs).toBe(0);
    expect(await client.send("go")).toMatchObject(whole);
  });
});

it("an unknown version is refused before any request", async () => {
  const versions = ["0.4" as "0.3"];
  await expect(Client.connect("http://127.0.0.1:1", { versions })).rejects.toThrow(
    'versions[0] must be "1.0" or "0.3"',
  );
});

describe("no code is loaded for versions that a program does not use", () => {
  const child = fileURLToPath(new URL("../support/loaded-child.mjs", import.meta.url));
  it.each([
    ["1.0", names, ["1.0"]],
    ["0.3", ["0.3"], ["0.3", "1.0"]],
  ] as const)(
    "no code is loaded for versions that a program does not use, when it speaks %s",
    async (spoken, versions, loaded) => {
      if (!existsSync(fileURLToPath(new URL("../../../dist/src/index.js", import.meta.url)))) {
        throw new Error("dist is missing: run npm run build");
      }
      await using agent = await countingAgent({ versions });
      const program = owned(spawn(process.execPath, [child, agent.url]));
      const [, out, errors] = await Promise.all([once(program, "close"), text(program.stdout), text(program.stderr)]);
      expect(errors).toBe("");
      expect(JSON.parse(out)).toEqual({ spoken, loaded });
    },
  );
});
