import { readFileSync } from "node:fs";
import { artifact, Client, serve, working } from "trivium";
import { describe, expect, it } from "vitest";
import { fixedPort } from "../support/fixed-port.js";
import { requestOf } from "../support/say.js";
import { localTls } from "../support/tls.js";
import { deployFile, hasProxy, type ProxyName, startProxy } from "./proxy.js";

// Real proxies with the configurations of deploy/, which end TLS before an agent: each binding, with streams whose chunks
// must come one by one.

interface Row {
  readonly proxy: ProxyName;
  readonly file: string;
  /** Puts the ports of the test into the configuration. */
  readonly adapt: (config: string, port: number, agent: number) => string;
}

const rows: readonly Row[] = [
  {
    proxy: "haproxy",
    file: "haproxy.cfg",
    adapt: (config, port, agent) =>
      config
        .replace("maxconn 20000", "maxconn 2000")
        .replace("bind :443", `bind 127.0.0.1:${port}`)
        .replace(/10\.0\.0\.1\d:8080/g, `127.0.0.1:${agent}`),
  },
  {
    proxy: "nginx",
    file: "nginx.conf",
    adapt: (config, port, agent) =>
      config.replace("listen 443", `listen 127.0.0.1:${port}`).replaceAll("127.0.0.1:8080", `127.0.0.1:${agent}`),
  },
  {
    proxy: "envoy",
    file: "envoy.yaml",
    adapt: (config, port, agent) =>
      config
        .replace("address: 0.0.0.0, port_value: 443", `address: 127.0.0.1, port_value: ${port}`)
        .replace("address: harbour, port_value: 8080", `address: 127.0.0.1, port_value: ${agent}`),
  },
];

const files = { "cert.pem": localTls.cert, "key.pem": localTls.key, "agents.pem": localTls.cert + localTls.key };

for (const { proxy, file, adapt } of rows) {
  describe.skipIf(!hasProxy(proxy))(`behind ${proxy} with deploy/${file}`, () => {
    it.each(["JSONRPC", "HTTP+JSON", "GRPC"])("sends and streams over %s", async (binding) => {
      const port = await fixedPort();
      let release = Promise.withResolvers<void>();
      await using server = await serve({
        card: { name: "Harbour", description: "Counts", version: "1.0.0" },
        port: 0,
        publicUrl: `https://localhost:${port}`,
        async *agent() {
          yield working();
          for (let number = 0; number < 3; number++) {
            yield artifact(`${number} `, { artifactId: "count", append: number > 0 });
            await release.promise;
            release = Promise.withResolvers();
          }
        },
      });
      const config = adapt(readFileSync(deployFile(file), "utf8"), port, server.port);
      await using running = await startProxy(proxy, { config, files, port });
      const client = await Client.connect(`https://localhost:${port}`, {
        prefer: [binding],
        tls: { ca: localTls.cert },
      });
      // The next chunk is made only once this one has arrived.
      let text = "";
      for await (const delta of client.stream("count").text) {
        text += delta;
        release.resolve();
      }
      expect(text, running.said()).toBe("0 1 2 ");
      expect(client.connection?.binding).toBe(binding);
      const { tasks } = await client.operations.listTasks(requestOf("listTasks"), {});
      expect(tasks).toHaveLength(1);
      await client.close();
    });
  });
}
