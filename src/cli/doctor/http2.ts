import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { ClientTls } from "../../binding/fetch/client-tls.js";
import { noop } from "../../protocol/async/noop.js";
import { type Finding, findings, reasonOf } from "./finding.js";

export interface Http2Check {
  readonly url: URL;
  /** Whether the card has a gRPC interface. */
  readonly hasGrpc: boolean;
  readonly timeoutMs: number;
  /** How long an idle stream must last. */
  readonly idleMs: number;
  readonly tls?: ClientTls | undefined;
}

/** Checks HTTP/2 at the address: that it is spoken, that gRPC's trailers pass, and that idle streams last. */
export async function checkHttp2({ url, hasGrpc, timeoutMs, idleMs, tls }: Http2Check): Promise<readonly Finding[]> {
  const report = findings("http/2");
  const needed = "gRPC needs it: switch HTTP/2 on in the proxy, or give gRPC an address of its own (publicGrpc)";
  let session: ClientHttp2Session;
  try {
    session = await connected(url.origin, timeoutMs, tls);
  } catch (error) {
    const seen = `not spoken at ${url.origin}: ${reasonOf(error)}`;
    return [hasGrpc ? report.failed(seen, needed) : report.warning(seen, needed)];
  }
  try {
    return [report.ok(`spoken at ${url.origin}`), ...(hasGrpc ? await checkGrpc(session, { timeoutMs, idleMs }) : [])];
  } finally {
    session.destroy();
  }
}

function connected(origin: string, timeoutMs: number, tls: ClientTls = {}): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    // The certificate is judged elsewhere, and no secret is sent.
    const session = connect(origin, { ...tls, rejectUnauthorized: false });
    const late = setTimeout(() => session.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(late);
      reject(error);
    };
    session.once("error", fail);
    // A server that wants a certificate closes without an error.
    session.once("close", () => fail(new Error("the connection was closed")));
    // Only a peer that speaks it sends its settings.
    session.once("remoteSettings", () => {
      clearTimeout(late);
      resolve(session);
    });
  });
}

type Times = Pick<Http2Check, "timeoutMs" | "idleMs">;

async function checkGrpc(session: ClientHttp2Session, { timeoutMs, idleMs }: Times): Promise<readonly Finding[]> {
  const trailers = findings("grpc trailers");
  const idle = findings("idle stream");
  const check = await health(session, "Check", timeoutMs);
  if (check.status === unimplemented || (check.http !== 200 && check.status === undefined)) {
    const seen = "the server has no gRPC health service at this address";
    return [trailers.skipped(seen), idle.skipped(seen)];
  }
  const passed =
    check.status === undefined
      ? trailers.failed(
          "the reply came without grpc-status",
          "let the proxy pass trailers: use its gRPC mode, not plain HTTP",
        )
      : trailers.ok("passed");
  const watch = await health(session, "Watch", idleMs);
  const seconds = Math.round(watch.lastedMs / 1000);
  if (!watch.hasData) {
    const remedy = "switch response buffering off in the proxy (proxy_buffering off)";
    return [passed, findings("grpc stream").failed("no event came while the stream was open", remedy)];
  }
  if (watch.isOpen) return [passed, idle.ok(`lasted ${seconds} s, as long as it was watched (--idle)`)];
  const remedy = "raise the proxy's timeout for idle streams (grpc_read_timeout, timeout tunnel, stream_idle_timeout)";
  return [passed, idle.failed(`was closed after ${seconds} s`, remedy)];
}

const unimplemented = 12;

interface HealthAnswer {
  readonly http: number;
  readonly status: number | undefined;
  readonly hasData: boolean;
  /** Still open when its time was over. */
  readonly isOpen: boolean;
  readonly lastedMs: number;
}

/** Calls the health service of gRPC, which needs no credentials and starts nothing. */
function health(session: ClientHttp2Session, method: "Check" | "Watch", ms: number): Promise<HealthAnswer> {
  return new Promise((resolve) => {
    const begin = performance.now();
    const stream = session.request({
      ":method": "POST",
      ":path": `/grpc.health.v1.Health/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
    });
    let [http, status, hasData]: [number, number | undefined, boolean] = [0, undefined, false];
    const read = (headers: Readonly<Record<string, unknown>>): void => {
      const text = headers["grpc-status"];
      if (text !== undefined) status = Number(text);
    };
    const end = (isOpen: boolean) => (): void => {
      clearTimeout(over);
      resolve({ http, status, hasData, isOpen, lastedMs: performance.now() - begin });
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const over = setTimeout(end(true), ms);
    stream.on("response", (headers) => {
      http = Number(headers[":status"]);
      read(headers);
    });
    stream.on("trailers", read);
    stream.on("data", () => {
      hasData = true;
    });
    stream.on("error", noop);
    stream.on("close", end(false));
    // An empty message: the health of the server as a whole.
    stream.end(Buffer.alloc(5));
  });
}
