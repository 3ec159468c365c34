import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text as textOf } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { artifact, reply, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import type { VersionName } from "../../src/version/versions.js";
import { rawSession } from "../support/grpc-raw.js";
import { owned } from "../support/owned.js";
import { linesOf, openStream, readUntil, requestOf, say, stateOf, taskOf, textIn } from "../support/say.js";
import { startAgent } from "../support/serve-agent.js";
import { type Wire, wires, wiresOf, wiresThat } from "../support/wires.js";
import { agent, called, fieldFrame, kindMessage, typeMessage } from "./called-by-hand.js";

// Several versions at one agent: how a call's version is found, what all versions see, and how a disabled version
// behaves.

describe("callers of different versions see the same task", () => {
  const reading = wiresThat("take ids as they are given");

  // Requirements: V03-TRANS-3
  it.each(reading)("a task made over %s is the same seen over every other version", async (wire) => {
    await using served = await startAgent(wire, { agent });
    const task = taskOf(await served.client.sendMessage(say("ask"), {}));
    for (const other of wires.filter((each) => each !== "in-process")) {
      // Callers of 0.1 see the tasks of others only if they declare their version.
      const options = other === "JSONRPC 0.1" ? { headers: { "A2A-Version": "0.1" } } : {};
      const view = await served.clientOver(other).getTask(requestOf("getTask", { id: task.id }), options);
      expect([other, view.id, view.contextId, stateOf(view)]).toEqual([
        other,
        task.id,
        task.contextId,
        "INPUT_REQUIRED",
      ]);
      expect([textIn(view.artifacts[0]?.parts), view.history.length]).toEqual(["done", task.history.length]);
    }
    const over: Wire = wire === "GRPC 0.3" ? "JSONRPC" : "GRPC 0.3";
    const more = say("more", { taskId: task.id });
    expect(stateOf(taskOf(await served.clientOver(over).sendMessage(more, {})))).toBe("COMPLETED");
    expect(stateOf(await served.client.getTask(requestOf("getTask", { id: task.id }), {}))).toBe("COMPLETED");
  });

  it("callers of different versions see the same events, at the same time", async () => {
    const gate = Promise.withResolvers<void>();
    await using served = await startAgent("JSONRPC 0.3", {
      async *agent() {
        yield working();
        await gate.promise;
        yield artifact("a", { artifactId: "x" });
        yield artifact("b", { artifactId: "x", append: true, lastChunk: true });
      },
    });
    const stream = await openStream(served.client.sendStreamingMessage(say("go"), {}));
    await readUntil(stream.iterator, (line) => line === "status WORKING");
    const { id } = taskOf(stream.firstItem.response);
    const others = await Promise.all(
      reading.map((wire) =>
        openStream(served.clientOver(wire).subscribeToTask(requestOf("subscribeToTask", { id }), {})),
      ),
    );
    gate.resolve();
    const lines = ['artifact x "a"', 'artifact x "b" append last', "status COMPLETED"];
    expect(await stream.readRest()).toEqual(lines);
    expect(await Promise.all(others.map(({ readRest: rest }) => rest()))).toEqual(others.map(() => lines));
  });

  it("a cancel in one version ends the stream of another", async () => {
    await using served = await startAgent("JSONRPC 0.1", {
      async *agent({ signal }) {
        yield working();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const stream = await openStream(served.client.sendStreamingMessage(say("go", { taskId: "mine" }), {}));
    await readUntil(stream.iterator, (line) => line === "status WORKING");
    const [task] = (await served.clientOver("JSONRPC").listTasks(requestOf("listTasks"), {})).tasks;
    const canceled = await served
      .clientOver("HTTP+JSON 0.3")
      .cancelTask(requestOf("cancelTask", { id: task?.id ?? "" }), {});
    expect(stateOf(canceled)).toBe("CANCELED");
    expect(await stream.readRest()).toEqual(["status CANCELED"]);
  });
});

describe("versions that are served", () => {
  const card = { name: "Chosen", description: "Serves what it was told to", version: "1" };

  it.each([["0.4"], ["1.0.0"], ["v1.0"], [""]])(
    "%j is no valid choice of versions, which fails at startup",
    async (name) => {
      const options = { card, agent, port: 0, versions: [name as VersionName] };
      const message = `serve(): versions[0] must be "1.0" or "0.3" or "0.2" or "0.1", not ${JSON.stringify(name)}`;
      await expect(serve(options)).rejects.toThrow(message);
    },
  );

  it("the versions that are served are at least one", async () => {
    await expect(serve({ card, agent, port: 0, versions: [] })).rejects.toThrow("versions: name at least one");
  });

  it("version 1.0 alone knows no method, no path and no service of another", async () => {
    await using running = await called({ versions: ["1.0"] });
    for (const [method, params] of [
      ["message/send", { message: kindMessage("reply") }],
      ["tasks/send", { id: "a", message: typeMessage("reply") }],
      ["tasks/get", { id: "a" }],
    ] as const) {
      const answer = await running.ask("/json-rpc", { jsonrpc: "2.0", id: 1, method, params });
      expect(JSON.parse(answer.text)).toMatchObject({ id: 1, error: { code: -32601, data: expect.any(Array) } });
    }
    expect((await running.ask("/http-json/v1/tasks/a", undefined)).status).toBe(400);
    const declared = await running.ask("/http-json/tasks", undefined, { "A2A-Version": "0.3" });
    expect(JSON.parse(declared.text)).toMatchObject({
      error: { details: [{ reason: "VERSION_NOT_SUPPORTED", metadata: { requested: "0.3", supported: "1.0" } }] },
    });
    using session = rawSession(running.served.server.port);
    const old = await session.call("GetTask", fieldFrame(1, "tasks/a"), { ":path": "/a2a.v1.A2AService/GetTask" });
    expect(old.status).toBe(12);
  });

  it.each<[served: readonly VersionName[], shown?: readonly VersionName[]]>([
    [["1.0"]],
    [["0.3"]],
    [["0.3", "1.0"]],
    [["0.2"]],
    [["0.1"]],
    [["0.1", "0.3"], ["0.3"]],
    [["1.0", "0.2", "0.1"], ["1.0"]],
  ])(
    "the versions %j are the only ones that answer; the oldest are not listed beside others",
    async (versions, shown = versions) => {
      await using served = await startAgent("JSONRPC", { agent, versions });
      const listed = new Set(served.server.card.supportedInterfaces.map(({ protocolVersion }) => protocolVersion));
      expect(listed).toEqual(new Set(shown));
      for (const wire of wiresOf("1.0", "0.3", "0.2", "0.1").filter((each) => each !== "in-process")) {
        // 0.2 over JSON-RPC equals 0.3, and its callers do not declare which of them they speak.
        const answering: readonly VersionName[] =
          versions.includes("0.3") && !versions.includes("0.2") ? [...versions, "0.2"] : versions;
        const isServed = wiresOf(...answering).includes(wire);
        const state = served
          .clientOver(wire)
          .sendMessage(say("go"), {})
          .then(
            (answer) => stateOf(taskOf(answer)),
            () => "refused",
          );
        expect([wire, await state]).toEqual([wire, isServed ? "COMPLETED" : "refused"]);
      }
    },
  );

  it("a stream in a version that is off is refused and runs nothing", async () => {
    let turns = 0;
    await using served = await startAgent("JSONRPC", {
      versions: ["1.0"],
      async agent() {
        turns++;
        return reply("pong");
      },
    });
    for (const wire of wiresOf("0.3", "0.2", "0.1")) {
      await expect(linesOf(served.clientOver(wire).sendStreamingMessage(say("go"), {}))).rejects.toThrow();
    }
    expect(turns).toBe(0);
  });
});

describe("no code of versions that a server does not serve is used", () => {
  const child = fileURLToPath(new URL("versions-child.mjs", import.meta.url));

  // 0.2 and 0.1 are built on parts of 0.3.
  it.each<[served: readonly VersionName[], touched: readonly string[], loaded: readonly string[], code: number | null]>(
    [
      [["1.0"], ["1.0"], ["1.0"], -32601],
      [["1.0", "0.3"], ["0.3", "1.0"], ["0.3", "1.0"], null],
      [["0.2"], ["0.2", "0.3"], ["0.2"], null],
      [["1.0", "0.1"], ["0.1", "0.3", "1.0"], ["0.1", "1.0"], -32601],
    ],
  )(
    "no code of versions that a server does not serve is used when it serves %j",
    async (served, touched, loaded, code) => {
      if (!existsSync(fileURLToPath(new URL("../../dist/src/index.js", import.meta.url)))) {
        throw new Error("dist is missing: run npm run build");
      }
      const program = owned(spawn(process.execPath, [child, JSON.stringify(served)]));
      const [, out, errors] = await Promise.all([
        once(program, "close"),
        textOf(program.stdout),
        textOf(program.stderr),
      ]);
      expect(errors).toBe("");
      expect(JSON.parse(out)).toEqual({ card: 200, code, touched, loaded });
    },
  );
});
