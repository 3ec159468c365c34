/**
 * Loads a CommonJS package. It needs `require`, which the ES modules of some bundlers lack: then the error says what to
 * change.
 */
export async function loadPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw bundleFault(name, cause) ?? cause;
  }
}

/** The error for a package whose `require` a bundler has left out; `undefined` for any other failure. */
export function bundleFault(name: string, cause: unknown): TypeError | undefined {
  if (!(cause instanceof Error && /^Dynamic require of /.test(cause.message))) return undefined;
  const remedy =
    "bundle as CommonJS (--format=cjs), or define `require` at the top of the bundle (docs/guides/bundle.md)";
  return new TypeError(`this bundle cannot load ${name}, which needs \`require\`: ${remedy}`, { cause });
}
