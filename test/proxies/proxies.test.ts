import { artifact, Client, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { fixedPort } from "../support/fixed-port.js";
import { requestOf, textIn } from "../support/say.js";
import { silentRelay } from "../support/silent-relay.js";
import { localTls } from "../support/tls.js";
import { hasProxy, type ProxyName, shippedConfig, shippedFiles, startProxy } from "./proxy.js";

// Real proxies with the configurations of deploy/, which end TLS before an agent: each binding, with streams whose chunks
// must come one by one.

const proxies: readonly ProxyName[] = ["haproxy", "nginx", "envoy"];

/** An agent that makes each of its chunks when the one before has arrived. */
function counter(chunks: number) {
  let release = Promise.withResolvers<void>();
  let runs = 0;
  return {
    runs: () => runs,
    release: () => release.resolve(),
    async *agent() {
      runs++;
      yield working();
      for (let number = 0; number < chunks; number++) {
        yield artifact(`${number} `, { artifactId: "count", append: number > 0 });
        await release.promise;
        release = Promise.withResolvers();
      }
    },
  };
}

const card = { name: "Harbour", description: "Counts", version: "1.0.0" };

for (const proxy of proxies) {
  describe.skipIf(!hasProxy(proxy))(`behind ${proxy} with its configuration of deploy/`, () => {
    const start = (port: number, agent: number) =>
      startProxy(proxy, { config: shippedConfig(proxy, port, [agent]), files: shippedFiles, port });
    const connect = (port: number, binding: string) =>
      Client.connect(`https://localhost:${port}`, { prefer: [binding], tls: { ca: localTls.cert } });

    it.each(["JSONRPC", "HTTP+JSON", "GRPC"])("a client behind a proxy sends and streams over %s", async (binding) => {
      const port = await fixedPort();
      const { agent, release } = counter(3);
      await using server = await serve({ card, port: 0, publicUrl: `https://localhost:${port}`, agent });
      await using running = await start(port, server.port);
      await using client = await connect(port, binding);
      let text = "";
      for await (const delta of client.stream("count").text) {
        text += delta;
        release();
      }
      expect(text, running.readOutput()).toBe("0 1 2 ");
      expect(client.connection?.binding).toBe(binding);
      const { tasks } = await client.operations.listTasks(requestOf("listTasks"), {});
      expect(tasks).toHaveLength(1);
    });

    it.each(["JSONRPC", "HTTP+JSON", "GRPC"])(
      "a client resumes a stream that is cut before and behind the proxy, over %s",
      async (binding) => {
        const port = await fixedPort();
        await using front = await silentRelay(port);
        const { agent, release, runs } = counter(6);
        const calls: string[] = [];
        await using server = await serve({
          card,
          port: 0,
          publicUrl: `https://localhost:${front.port}`,
          agent,
          interceptors: [
            (call, next) => {
              calls.push(call.operation);
              return next(call);
            },
          ],
        });
        await using back = await silentRelay(server.port);
        await using running = await start(port, back.port);
        await using client = await connect(front.port, binding);
        const cuts = new Map([
          [2, front],
          [4, back],
        ]);
        const deltas: string[] = [];
        for await (const delta of client.stream("count").text) {
          deltas.push(delta);
          cuts.get(deltas.length)?.cut();
          release();
        }
        expect(deltas, running.readOutput()).toEqual(["0 ", "1 ", "2 ", "3 ", "4 ", "5 "]);
        expect(runs()).toBe(1);
        // Each cut has ended a stream, which another one continued.
        expect(calls.filter((name) => name === "subscribeToTask").length).toBeGreaterThanOrEqual(cuts.size);
        expect(client.connection?.binding).toBe(binding);
        // The task itself has each chunk once, too.
        const [task] = (await client.listTasks({ includeArtifacts: true })).tasks;
        expect(task?.artifacts.flatMap(({ parts }) => textIn(parts))).toEqual(["0 1 2 3 4 5 "]);
      },
    );
  });
}

describe.skipIf(!hasProxy("haproxy"))("deploy/haproxy.cfg", () => {
  it.each([20_000, 4_096, 1_024])(
    "deploy/haproxy.cfg starts where the hard limit of open files is %i",
    async (openFilesMax) => {
      const port = await fixedPort();
      await using server = await serve({
        card,
        port: 0,
        publicUrl: `https://localhost:${port}`,
        agent: counter(0).agent,
      });
      const config = shippedConfig("haproxy", port, [server.port]);
      await using _ = await startProxy("haproxy", { config, files: shippedFiles, port, openFilesMax });
      await using client = await Client.connect(`https://localhost:${port}`, { tls: { ca: localTls.cert } });
      expect((await client.send("count")).state).toBe("completed");
    },
  );
});
