import { A2AError, gateway, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { withTimeout } from "../../src/binding/deadline.js";
import { idempotentSendExtension } from "../../src/protocol/extensions.js";
import { createFaultProxy } from "../support/fault-proxy.js";
import { cutAfter } from "../support/fault-schedule.js";
import { errorOf, linesOf, openStream, requestOf, say, stateOf, taskOf } from "../support/say.js";
import { scripted, startScene } from "./scene.js";

const card = { name: "Behind", description: "Comes and goes", version: "1.0.0" };
const impatient = { retry: false } as const;
const nowhere = requestOf("getTask", { id: "nowhere" });

describe("a gateway", () => {
  it("a gateway fails at startup without an agent", async () => {
    const gone = await serve({ card, agent: scripted, port: 0 });
    await gone.close();
    const error = await errorOf(gateway({ upstream: gone.url, port: 0, client: impatient }));
    expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining(gone.url) });
  });

  it("a gateway fails at startup when the card's agent is unreachable", async () => {
    await using scene = await startScene();
    const { card: live } = scene.behind;
    await scene.behind.close();
    const error = await errorOf(gateway({ upstream: live, port: 0, client: impatient }));
    expect(error).toMatchObject({ code: "unavailable", name: "NoInterfaceError" });
  });

  it("a gateway reports only that its agent is unavailable, and calls it again after recovery", async () => {
    await using scene = await startScene({ gateway: { client: impatient } });
    const { operations } = await scene.over("JSONRPC");
    const { port } = scene.behind;
    expect((await errorOf(operations.getTask(nowhere, {}))).code).toBe("taskNotFound");
    await scene.behind.close();
    const error = await errorOf(operations.sendMessage(say("echo anybody?"), {}));
    expect(error).toMatchObject({ code: "unavailable", metadata: {} });
    expect(error.message).not.toContain(String(port));
    expect(error.message).toMatch(
      /^the agent behind the gateway cannot be reached|^the connection to the agent behind/,
    );
    const stream = await errorOf(operations.sendStreamingMessage(say("chunks"), {}));
    expect(stream).toMatchObject({ code: "unavailable", message: "the agent behind the gateway cannot be reached" });
    // The card is served throughout.
    const read = await fetch(`${scene.gateway.url}/.well-known/agent-card.json`);
    expect([read.status, ((await read.json()) as { name: string }).name]).toEqual([200, "Behind"]);
    await using _ = await serve({ card, agent: scripted, port, drainMs: 0 });
    expect(stateOf(taskOf(await operations.sendMessage(say("echo again"), {})))).toBe("COMPLETED");
  });

  it("a gateway waits for an agent that restarts, no longer than its caller", async () => {
    const restarting = Promise.withResolvers<void>();
    let retries = 0;
    const onRetry = () => {
      if (++retries === 5) restarting.resolve();
    };
    const client = { retry: { firstPauseMs: 1, maxPauseMs: 50 }, onRetry } as const;
    await using scene = await startScene({ gateway: { client } });
    const { operations } = await scene.over("JSONRPC");
    const { port } = scene.behind;
    await scene.behind.close();
    const sent = operations.sendMessage(say("echo anybody?"), {});
    await restarting.promise;
    const restarted = await serve({ card, agent: scripted, port, drainMs: 0 });
    expect(stateOf(taskOf(await sent))).toBe("COMPLETED");
    await restarted.close();
    const late = await errorOf(operations.sendMessage(say("echo anybody?"), withTimeout({ timeoutMs: 200 })));
    expect(late.code).toMatch(/^(?:unavailable|deadlineExceeded)$/);
  });

  it("a gateway resumes a stream from the agent, wherever it breaks", async () => {
    const only = { bindings: ["HTTP+JSON"], versions: ["1.0"] } as const;
    await using behind = await serve({ card, agent: scripted, port: 0, drainMs: 0, ...only });
    let cuts = 0;
    for (let after = 500; after < 2500; after += 200) {
      // The first connection reads the card.
      const schedule = [{ kind: "pass" }, cutAfter("response", after, "reset"), { kind: "pass" }] as const;
      await using proxy = await createFaultProxy({ target: { port: behind.port }, schedule });
      await using scene = await startScene({ gateway: { upstream: proxy.url() } });
      const { operations } = await scene.over("JSONRPC");
      const extensions = [idempotentSendExtension];
      const lines = await linesOf(operations.sendStreamingMessage(say("chunks"), { extensions }));
      expect(lines).toEqual([
        "task SUBMITTED",
        "status WORKING",
        'artifact a "one"',
        'artifact a "two" append',
        'artifact a "three" append',
        "status COMPLETED",
      ]);
      if (proxy.connections > 2) cuts++;
    }
    expect(cuts).toBeGreaterThan(3);
  });

  it("a gateway ends its own call when the caller leaves, and the task continues", async () => {
    await using behind = await serve({ card, agent: scripted, port: 0, drainMs: 0, bindings: ["GRPC"] });
    await using proxy = await createFaultProxy({ target: { port: behind.port } });
    await using scene = await startScene({ gateway: { upstream: behind.url } });
    const { operations } = await scene.over("HTTP+JSON");
    const { firstItem: first, iterator } = await openStream(operations.sendStreamingMessage(say("wait"), {}));
    const { id } = taskOf(first.response);
    await iterator.return?.();
    expect(proxy.open).toBe(0);
    expect(stateOf(await operations.getTask(requestOf("getTask", { id }), {}))).toMatch(/SUBMITTED|WORKING/);
  });

  it("a gateway masks its own internal errors, and never those of the agent", async () => {
    await using scene = await startScene({
      gateway: {
        client: {
          interceptors: [
            async (call, next) => {
              if (call.operation === "listTasks") throw new TypeError("a secret of the gateway");
              return next(call);
            },
          ],
        },
      },
    });
    const { operations } = await scene.over("GRPC");
    const error = await errorOf(operations.listTasks(requestOf("listTasks"), {}));
    expect(error).toBeInstanceOf(A2AError);
    expect([error.code, error.message.includes("secret")]).toEqual(["internalError", false]);
    expect(scene.log.some(({ level, fields }) => level === "error" && "reference" in fields)).toBe(true);
  });
});
