import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/** Version of this package. */
export function packageVersion(): string {
  const path = createRequire(import.meta.url).resolve("trivium/package.json");
  const { version } = JSON.parse(readFileSync(path, "utf8")) as { readonly version: string };
  return version;
}
