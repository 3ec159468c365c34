import { readFileSync } from "node:fs";

/** The entry points of the package and their sources. */
export function entryFiles(): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return new Map(
    Object.entries(exports).flatMap(([path, target]) =>
      typeof target === "string"
        ? []
        : [[path.replace(/^\./, "trivium"), target.types.replace("./dist/", "").replace(".d.ts", ".ts")] as const],
    ),
  );
}
