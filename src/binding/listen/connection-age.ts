import type { Socket } from "node:net";
import { noop } from "../../protocol/async/noop.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import type { ListenerLimits } from "./connection.js";

/** The share of the age by which it varies, so that connections opened together do not end together. */
const jitter = 0.1;

/** Calls `onAged` once a connection has reached its age, and destroys its socket once the grace after that has passed. */
export function watchAge(socket: Socket, limits: ListenerLimits, onAged: () => void): void {
  const { maxConnectionAgeMs, maxConnectionAgeGraceMs } = limits;
  if (maxConnectionAgeMs === Number.POSITIVE_INFINITY) return;
  let cancel = noop;
  const wait = (ms: number, over: () => void): void => {
    if (ms !== Number.POSITIVE_INFINITY) cancel = systemClock.after(ms, over);
  };
  wait(maxConnectionAgeMs * (1 + jitter * (2 * Math.random() - 1)), () => {
    wait(maxConnectionAgeGraceMs, () => socket.destroy());
    onAged();
  });
  socket.once("close", () => cancel());
}
