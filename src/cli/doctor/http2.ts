import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { ClientTls } from "../../binding/fetch/client-tls.js";
import { noop } from "../../protocol/async/noop.js";
import { describeCause, type Finding, findings } from "./finding.js";

export interface Http2Check {
  readonly url: URL;
  /** Whether the card has a gRPC interface. */
  readonly hasGrpc: boolean;
  readonly timeoutMs: number;
  /** Whether the server is draining, so that its streams end. */
  readonly isDraining: boolean;
  /** How long an idle stream must last. */
  readonly idleMs: number;
  readonly tls?: ClientTls | undefined;
}

/** Checks that an address speaks HTTP/2, that gRPC's trailers pass, and that idle streams last. */
export async function checkHttp2(check: Http2Check): Promise<readonly Finding[]> {
  const { url, hasGrpc, timeoutMs, tls } = check;
  const report = findings("http/2");
  const remedy = "gRPC needs it: switch HTTP/2 on in the proxy, or give gRPC an address of its own (publicGrpc)";
  let session: ClientHttp2Session;
  try {
    session = await connectHttp2(url.origin, timeoutMs, tls);
  } catch (error) {
    const problem = `not spoken at ${url.origin}: ${describeCause(error)}`;
    return [hasGrpc ? report.failed(problem, remedy) : report.warning(problem, remedy)];
  }
  try {
    return [report.ok(`spoken at ${url.origin}`), ...(hasGrpc ? await checkGrpc(session, check) : [])];
  } finally {
    session.destroy();
  }
}

function connectHttp2(origin: string, timeoutMs: number, tls: ClientTls = {}): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    // Another check verifies the certificate, and no secret is sent.
    const session = connect(origin, { ...tls, rejectUnauthorized: false });
    const timer = setTimeout(() => session.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    session.once("error", fail);
    // A server that wants a certificate closes without an error.
    session.once("close", () => fail(new Error("the connection was closed")));
    // Only a peer that speaks HTTP/2 sends settings.
    session.once("remoteSettings", () => {
      clearTimeout(timer);
      resolve(session);
    });
  });
}

async function checkGrpc(
  session: ClientHttp2Session,
  { timeoutMs, idleMs, isDraining }: Http2Check,
): Promise<readonly Finding[]> {
  const trailers = findings("grpc trailers");
  const idle = findings("idle stream");
  const check = await health(session, "Check", timeoutMs);
  if (check.status === unimplementedStatus || (check.http !== 200 && check.status === undefined)) {
    const problem = "the server has no gRPC health service at this address";
    return [trailers.skipped(problem), idle.skipped(problem)];
  }
  const trailersFinding =
    check.status === undefined
      ? trailers.failed(
          "the reply came without grpc-status",
          "let the proxy pass trailers: use its gRPC mode, not plain HTTP",
        )
      : trailers.ok("passed");
  if (isDraining) return [trailersFinding, idle.skipped("the server is draining")];
  const watch = await health(session, "Watch", idleMs);
  const seconds = Math.round(watch.lastedMs / 1000);
  if (!watch.hasData) {
    const remedy = "switch response buffering off in the proxy (proxy_buffering off)";
    return [trailersFinding, findings("grpc stream").failed("no event came while the stream was open", remedy)];
  }
  if (watch.isOpen) return [trailersFinding, idle.ok(`lasted ${seconds} s, as long as it was watched (--idle)`)];
  const remedy = "raise the proxy's timeout for idle streams (grpc_read_timeout, timeout tunnel, stream_idle_timeout)";
  return [trailersFinding, idle.failed(`was closed after ${seconds} s`, remedy)];
}

const unimplementedStatus = 12;

interface HealthAnswer {
  readonly http: number;
  readonly status: number | undefined;
  readonly hasData: boolean;
  /** Whether the call was still open after its time. */
  readonly isOpen: boolean;
  readonly lastedMs: number;
}

/** Calls gRPC's health service, which needs no credentials and has no side effects. */
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
    const readStatus = (headers: Readonly<Record<string, unknown>>): void => {
      const text = headers["grpc-status"];
      if (text !== undefined) status = Number(text);
    };
    const end = (isOpen: boolean) => (): void => {
      clearTimeout(timer);
      resolve({ http, status, hasData, isOpen, lastedMs: performance.now() - begin });
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const timer = setTimeout(end(true), ms);
    stream.on("response", (headers) => {
      http = Number(headers[":status"]);
      readStatus(headers);
    });
    stream.on("trailers", readStatus);
    stream.on("data", () => {
      hasData = true;
    });
    stream.on("error", noop);
    stream.on("close", end(false));
    // An empty message: the health of the server as a whole.
    stream.end(Buffer.alloc(5));
  });
}
