// A stream that breaks goes on by itself: between this client and its agent stands a relay that cuts the connection again
// and again, and every word arrives once.

import { once } from "node:events";
import { createServer, connect as openSocket, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { artifact, Client, completed, serve, working } from "trivium";

const words = "The tide turns at half past four and runs north until the late evening.".split(/(?<= )/);

const relay = createServer();
relay.listen(0, "127.0.0.1");
await once(relay, "listening");
const address = relay.address();
const port = typeof address === "object" && address !== null ? address.port : 0;

await using server = await serve({
  card: { name: "Tides", description: "Tells the tides slowly", version: "1.0.0" },
  port: 0,
  publicUrl: `http://127.0.0.1:${port}`,
  bindings: ["JSONRPC"],
  async *agent() {
    yield working();
    for (const [index, word] of words.entries()) {
      await sleep(20);
      yield artifact(word, { artifactId: "tides", append: index > 0 });
    }
    yield completed();
  },
});

const open = new Set<Socket>();
let cuts = 0;
relay.on("connection", (near) => {
  const far = openSocket(Number(new URL(server.url).port), "127.0.0.1");
  for (const socket of [near, far]) open.add(socket.on("error", () => {}));
  near.pipe(far).pipe(near);
});

const client = await Client.connect(`http://127.0.0.1:${port}`);
for await (const delta of client.stream("When does the tide turn?").text) {
  process.stdout.write(delta);
  if (++cuts % 4 === 0) for (const socket of open) socket.destroy();
}
console.log(`\nafter ${Math.floor(cuts / 4)} broken connections`);
await client.close();
relay.close();
