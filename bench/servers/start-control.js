/** The server's end of `control.ts` for programs whose start is measured: nothing is loaded for it. */

/** @param {number} port */
export function announceStart(port) {
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.on("disconnect", () => process.exit());
  process.send?.({ http: port, grpc: port });
}
