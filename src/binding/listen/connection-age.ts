import type { Socket } from "node:net";
import type { ListenerLimits } from "./connection.js";

type AgeLimits = Pick<ListenerLimits, "maxConnectionAgeMs" | "maxConnectionAgeGraceMs">;

/** The share of the age by which it varies, so that connections opened together do not end together. */
const jitter = 0.1;
const longestTimerMs = 2 ** 31 - 1;

/** Calls `old` once a connection has reached its age, and destroys its socket once the grace after that has passed. */
export function watchAge(socket: Socket, limits: AgeLimits, old: () => void): void {
  const { maxConnectionAgeMs, maxConnectionAgeGraceMs } = limits;
  if (maxConnectionAgeMs > longestTimerMs) return;
  let timer: NodeJS.Timeout | undefined;
  const wait = (ms: number, over: () => void): void => {
    if (ms <= longestTimerMs) timer = setTimeout(over, ms).unref();
  };
  wait(maxConnectionAgeMs * (1 + jitter * (2 * Math.random() - 1)), () => {
    wait(maxConnectionAgeGraceMs, () => socket.destroy());
    old();
  });
  socket.once("close", () => clearTimeout(timer));
}
