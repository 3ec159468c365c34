import type { ServerHttp2Session } from "node:http2";
import { timerMs } from "../../protocol/async/clock.js";
import type { ListenerLimits } from "./connection.js";

/**
 * Pings an HTTP/2 connection, and destroys it if the answer is late. This finds peers that have vanished; a stream that
 * waits for events would never notice.
 */
export function keepAlive(session: ServerHttp2Session, limits: ListenerLimits): void {
  let timer: NodeJS.Timeout;
  const wait = (ms: number, run: () => void): void => {
    clearTimeout(timer);
    timer = setTimeout(run, timerMs(ms));
    timer.unref();
  };
  const ping = (): void => {
    if (session.destroyed) return;
    const isSent = session.ping((error) => (error === null ? waitForNext() : session.destroy()));
    if (isSent) wait(limits.grpcKeepaliveTimeoutMs, () => session.destroy());
    else session.destroy();
  };
  const waitForNext = (): void => wait(limits.grpcKeepaliveMs, ping);
  waitForNext();
  session.on("close", () => clearTimeout(timer));
}
