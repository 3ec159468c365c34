import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import { Duplex } from "node:stream";

const prefaceLength = 24;
const headLength = 9;
const headersFrame = 1;

/**
 * A client session whose requests have these header lines and no others, `:method` and the like included. Node's client
 * refuses to send two lines of a name such as `authorization`. One request each.
 */
export function connectWithLines(
  port: number,
  lines: readonly (readonly [name: string, value: string])[],
): ClientHttp2Session {
  const socket = connectSocket(port, "127.0.0.1");
  let waiting = Buffer.alloc(0);
  let isPrefaceSent = false;
  const wire = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      waiting = Buffer.concat([waiting, chunk]);
      if (!isPrefaceSent && waiting.length >= prefaceLength) {
        isPrefaceSent = true;
        socket.write(waiting.subarray(0, prefaceLength));
        waiting = waiting.subarray(prefaceLength);
      }
      while (isPrefaceSent && waiting.length >= headLength) {
        const end = headLength + waiting.readUIntBE(0, 3);
        if (waiting.length < end) break;
        const head = Buffer.from(waiting.subarray(0, headLength));
        const payload = head[3] === headersFrame ? literals(lines) : waiting.subarray(headLength, end);
        // Without the flags of padding and priority, which the replaced payload may have had.
        if (head[3] === headersFrame) head[4] = (head[4] ?? 0) & 0x05;
        head.writeUIntBE(payload.length, 0, 3);
        socket.write(Buffer.concat([head, payload]));
        waiting = waiting.subarray(end);
      }
      done();
    },
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (bytes) => wire.push(bytes));
  socket.on("close", () => wire.push(null)).on("error", (error) => wire.destroy(error));
  return connect(`http://127.0.0.1:${port}`, { createConnection: () => wire });
}

/** Header lines in HPACK, each as it is: without a table and without Huffman codes (RFC 7541, 6.2.2). */
function literals(lines: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer => Buffer.concat([lengthOf(value.length), Buffer.from(value, "latin1")]);
  return Buffer.concat(lines.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

/** An integer with a prefix of seven bits (RFC 7541, 5.1). */
function lengthOf(length: number): Buffer {
  if (length < 127) return Buffer.of(length);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}
