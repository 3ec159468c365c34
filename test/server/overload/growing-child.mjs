// A server whose agent answers as much as its caller asks for: "20 x 1048576 text" yields 20 chunks of a mebibyte of text. It
// is started with a small heap. argv has its options as JSON: limits, the path of a SQLite file, whether callers have names.
import { artifact, completed, data, serve, working } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const { limits = {}, path, named = true } = JSON.parse(process.argv[2]);

let letters = 0;
/** A new text of one piece, as a model's answer is one. */
const textOf = (bytes) => Buffer.alloc(bytes, 97 + (letters++ % 26)).toString("latin1");

const contents = {
  text: textOf,
  // Takes two bytes for each character.
  unicode: (bytes) => Buffer.alloc(bytes, "\u8a9e", "utf16le").toString("utf16le"),
  data: (bytes) => [data(Array.from({ length: bytes / 256 }, (_, index) => ({ index, text: textOf(100) })))],
};

const server = await serve({
  card: { name: "Growing", description: "Answers as much as it is asked for", version: "1.0.0" },
  port: 0,
  drainMs: 0,
  logger: { debug() {}, info: log, warn: log, error: log },
  limits,
  ...(path === undefined ? {} : { store: sqliteStore({ path, synchronous: "NORMAL" }) }),
  ...(named ? { authenticate: ({ header }) => ({ owner: header("x-owner") }) } : {}),
  async *agent({ text }) {
    const [count, , bytes, kind] = text.split(" ");
    yield working();
    for (let index = 0; index < Number(count); index++)
      yield artifact(contents[kind](Number(bytes)), { artifactId: "all", append: index > 0 });
    yield completed();
  },
});

function log(fields, message) {
  process.send({ fields: { ...fields, err: fields.err?.message }, message });
}
process.send({ url: server.url });
