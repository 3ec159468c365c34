import type { ServerResponse } from "node:http";
import { timerMs } from "../../protocol/async/clock.js";
import type { NodeResponse } from "./node-request.js";

/**
 * Closes the connection of an HTTP/1.1 response if its peer takes nothing for `stallMs` while bytes wait. Call it when
 * a write has left bytes waiting: a timer on every response would cost 5 % of a JSON-RPC call (Node 24.21). The
 * listener watches the streams of HTTP/2.
 */
export function watchStall(res: NodeResponse, stallMs: number): void {
  if (!("stream" in res) && res.writableLength > 0) res.setTimeout(timerMs(stallMs), destroyStalled);
}

/** Node calls this when no byte has moved for a while. After the response it uses the idle timeout instead. */
function destroyStalled(this: ServerResponse): void {
  if (this.writableLength > 0) this.socket?.destroy();
}
