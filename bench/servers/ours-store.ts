import type { Store } from "../../src/core/ports.js";
import { builtFile } from "../built.ts";

/** The store that an argument names; `undefined`: the default one, in memory. */
export async function storeNamed(name: string | undefined): Promise<Store | undefined> {
  if (name === undefined) return undefined;
  if (name.startsWith("postgres:")) {
    const { postgresStore }: typeof import("../../src/store/postgres/index.js") = await import(
      builtFile("src/store/postgres/index.js")
    );
    return postgresStore({ url: name });
  }
  const [, synchronous, path] = /^sqlite:(FULL|NORMAL):(.+)$/.exec(name) ?? [];
  if (path === undefined) throw new Error(`no such store: ${name}`);
  const { sqliteStore }: typeof import("../../src/store/sqlite/index.js") = await import(
    builtFile("src/store/sqlite/index.js")
  );
  return sqliteStore({ path, synchronous: synchronous === "FULL" ? "FULL" : "NORMAL" });
}
