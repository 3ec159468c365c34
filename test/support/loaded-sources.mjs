// For programs that say what code they have loaded: a file of the build is made of several sources, which its map names.
import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** The sources in `src/` of all that is loaded from now on, without their ending, the names of packages, and
 * `packages/…` for those that the build holds. */
export function watchLoading() {
  const loaded = new Set();
  registerHooks({
    load(url, context, next) {
      for (const source of sourcesOf(url)) {
        const [, name] = /\/src\/(.+)\.ts$/.exec(source) ?? [];
        if (name !== undefined) loaded.add(name);
      }
      const [, dependency] = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
      if (dependency !== undefined) loaded.add(dependency);
      const [part] = /packages\/[^/]+(?=\.js$)/.exec(url) ?? [];
      if (part !== undefined) loaded.add(part);
      return next(url, context);
    },
  });
  return loaded;
}

function sourcesOf(url) {
  const map = url.startsWith("file:") ? `${fileURLToPath(url)}.map` : "";
  return existsSync(map) ? JSON.parse(readFileSync(map, "utf8")).sources : [];
}
