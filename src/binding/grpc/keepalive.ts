import type { ChannelOptions } from "@grpc/grpc-js";
import { timerMs } from "../../protocol/async/clock.js";

/** How connections are pinged, at either end. The longest delay of a timer means never. */
export function keepaliveSettings(everyMs: number, timeoutMs: number): ChannelOptions {
  return { "grpc.keepalive_time_ms": timerMs(everyMs), "grpc.keepalive_timeout_ms": timerMs(timeoutMs) };
}
