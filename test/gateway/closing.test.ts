import { artifact, gateway, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { hasty } from "../client/stream/resuming-agent.js";
import { itemsOf } from "../support/items.js";
import { errorOf, linesOf, openStream, requestOf, say, stateOf, taskOf, textIn } from "../support/say.js";
import { bindings, scripted, startScene } from "./scene.js";

const card = { name: "Behind", description: "Takes its time", version: "1.0.0" };

describe("a gateway that closes", () => {
  it("a gateway that closes finishes calls in flight, and refuses new ones", async () => {
    const gate = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    let turns = 0;
    await using behind = await serve({
      card,
      port: 0,
      drainMs: 0,
      async *agent() {
        yield working();
        if (++turns === 2) second.resolve();
        await gate.promise;
        yield artifact("at last");
      },
    });
    await using scene = await startScene({ gateway: { upstream: behind.url, drainMs: 20_000 } });
    const { operations } = await scene.over("HTTP+JSON");
    const stream = await openStream(operations.sendStreamingMessage(say("go"), {}));
    const unary = operations.sendMessage(say("go"), {});
    await second.promise;
    const closing = scene.gateway.close();
    const refused = await errorOf(operations.getTask(requestOf("getTask", { id: "t" }), {}));
    expect(refused).toMatchObject({ code: "unavailable", message: "the server is shutting down" });
    expect((await fetch(`${scene.gateway.url}/readyz`)).status).toBe(503);
    gate.resolve();
    expect((await stream.readRest()).at(-1)).toBe("status COMPLETED");
    expect(stateOf(taskOf(await unary))).toBe("COMPLETED");
    await closing;
  });

  it.each(bindings)(
    "a gateway that closes ends endless streams over %s, and reports that not their agent ended them",
    async (binding) => {
      await using scene = await startScene();
      const { operations } = await scene.over(binding, { clock: hasty });
      const stream = await openStream(operations.sendStreamingMessage(say("wait"), {}));
      const rest = errorOf(stream.readRest());
      await scene.gateway.close();
      expect((await rest).code).toBe("unavailable");
      const { id } = taskOf(stream.firstItem.response);
      await using beside = await Client.connect(scene.behind.url);
      expect(stateOf(await beside.getTask({ id }))).toMatch(/SUBMITTED|WORKING/);
    },
  );

  it("a gateway that closes frees its port, and leaves the upstream agent unchanged", async () => {
    await using scene = await startScene();
    const { port } = scene.gateway;
    await scene.gateway.close();
    await scene.gateway.close();
    await using again = await gateway({ upstream: scene.behind.url, port });
    expect(again.port).toBe(port);
  });
});

describe("a gateway", () => {
  it("a gateway passes on a large message and a large answer, over every binding", async () => {
    await using scene = await startScene();
    const text = `echo ${"tide ".repeat(400_000)}`;
    for (const binding of bindings) {
      const { operations } = await scene.over(binding);
      const task = taskOf(await operations.sendMessage(say(text), {}));
      expect(textIn(task.artifacts[0]?.parts).length).toBe(text.length - 5);
    }
  });

  it("a gateway enforces its own server limits", async () => {
    await using scene = await startScene({ gateway: { limits: { contentMaxBytes: 1000, jsonBodyMaxBytes: 1500 } } });
    const { operations } = await scene.over("JSONRPC");
    const error = await errorOf(operations.sendMessage(say(`echo ${"x".repeat(2000)}`), {}));
    expect(error.code).toBe("contentTooLarge");
    await expect(gateway({ upstream: scene.behind.url, port: 0, limits: { nothing: 1 } as object })).rejects.toThrow(
      "limits.nothing cannot be given: ",
    );
  });

  it("a gateway can be called in process as an agent", async () => {
    await using scene = await startScene();
    const transport = scene.gateway.inProcess();
    const items = await itemsOf(transport.sendStreamingMessage(say("chunks"), {}));
    expect(items).toHaveLength(6);
  });

  it("a gateway streams for an agent that cannot, by polling the task", async () => {
    const plain = { ...card, capabilities: { streaming: false } };
    await using behind = await serve({ card: plain, agent: scripted, port: 0, drainMs: 0 });
    const limits = { pollMs: 5 };
    await using scene = await startScene({ gateway: { upstream: behind.url, client: { limits } } });
    expect(scene.gateway.card.capabilities?.streaming).toBe(true);
    const { operations } = await scene.over("JSONRPC");
    const lines = await linesOf(operations.sendStreamingMessage(say("chunks"), {}));
    expect([lines[0]?.slice(0, 4), lines.at(-1)]).toEqual(["task", expect.stringMatching(/^(status|task) COMPLETED$/)]);
  });
});
