/**
 * Whether a bundler has moved this code to another file. Then a server loads its packages before it listens, so that
 * a bundle that lacks something fails at once. A wrong answer costs startup time, or lets it fail later.
 */
export const isBundled = !/\/dist\/chunks\/[\w-]+\.js$|\/src\/server\/bundled\.ts$/.test(String(import.meta.url));
