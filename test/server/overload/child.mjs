// A server whose turns keep memory until they are released. It is started with a small heap.
import { artifact, completed, serve, working } from "trivium";

const released = Promise.withResolvers();
process.once("message", () => released.resolve());

/** Some hundred kilobytes of the heap. */
const memory = (id) => Array.from({ length: 2500 }, (_, index) => ({ index, text: `${id} ${index}` }));

const server = await serve({
  card: { name: "Keeping", description: "Keeps memory", version: "1.0.0" },
  port: 0,
  logger: { debug() {}, info: log, warn: log, error: log },
  limits: { turnsPerOwner: 100_000, ...JSON.parse(process.argv[2]) },
  authenticate: ({ header }) => ({ owner: header("x-owner") }),
  async *agent(turn) {
    if (turn.text === "tick") {
      yield working();
      for (let tick = 0; !(await Promise.race([released.promise.then(() => true), pause(20)])); tick++)
        yield artifact(`${tick} `, { artifactId: "ticks", append: tick > 0 });
      yield completed();
      return;
    }
    const kept = memory(turn.taskId);
    yield working();
    await released.promise;
    yield completed(`kept ${kept.length}`);
  },
});

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms, false));
}

function log(fields, message) {
  process.send({ fields: { ...fields, err: undefined }, message });
}
process.send({ url: server.url });
