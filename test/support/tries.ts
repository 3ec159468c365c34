/** How often a search tries: `few` times in `npm test`, `many` times in `npm run test:sweeps`. */
export function tries(few: number, many: number): number {
  return process.env["TRIVIUM_TRIES"] === "many" ? many : few;
}
