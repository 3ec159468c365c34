/** How often a search tries: a few times in `npm test`, and many times in `npm run test:sweeps`. */
export function tries(few: number, many: number): number {
  return process.env["TRIVIUM_TRIES"] === "many" ? many : few;
}
