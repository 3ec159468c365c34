// A server whose agent answers as much as its caller asks for: "20 x 1048576" yields 20 chunks of a mebibyte. It is started
// with a small heap. argv has its options as JSON: the limits, and the folder of a SQLite store.
import { join } from "node:path";
import { artifact, completed, serve, working } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const { limits = {}, folder, anonymous = false } = JSON.parse(process.argv[2]);
let letters = 0;

/** A new text, which V8 stores as one piece. */
const textOf = (bytes) => Buffer.alloc(bytes, 97 + (letters++ % 26)).toString("latin1");

const server = await serve({
  card: { name: "Growing", description: "Answers as much as it is asked for", version: "1.0.0" },
  port: 0,
  drainMs: 0,
  logger: { debug() {}, info: log, warn: log, error: log },
  limits,
  ...(folder === undefined ? {} : { store: sqliteStore({ path: join(folder, "tasks.db") }) }),
  ...(anonymous ? {} : { authenticate: ({ header }) => ({ owner: header("x-owner") }) }),
  async *agent({ text }) {
    const [count, bytes] = text.split(" x ").map(Number);
    yield working();
    for (let index = 0; index < count; index++) yield artifact(textOf(bytes), { artifactId: "all", append: index > 0 });
    yield completed();
  },
});

function log(fields, message) {
  process.send({ fields: { ...fields, err: fields.err?.message }, message });
}
process.send({ url: server.url });
