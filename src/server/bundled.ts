/**
 * Whether a bundler has moved this code into a file of its own. Then a server loads before it listens what it loads later
 * otherwise: a bundle that lacks something fails at once. A wrong answer costs the time of that, or has it fail later.
 */
export const isBundled = !/\/dist\/chunks\/[\w-]+\.js$|\/src\/server\/bundled\.ts$/.test(String(import.meta.url));
