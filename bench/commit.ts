import { spawnSync } from "node:child_process";

/** The full name of a commit of the clone in `folder`; throws with the remedy when the clone lacks it. */
export function commitOf(folder: string, commit: string): string {
  const hash = git(folder, "rev-parse", "--verify", "--quiet", `${commit}^{commit}`);
  if (hash !== undefined) return hash;
  const shallow = git(folder, "rev-parse", "--is-shallow-repository");
  if (shallow === undefined) throw new Error(`${folder} is no git clone: commit ${commit} is made from its history`);
  throw new Error(
    shallow === "true"
      ? `commit ${commit} is not in this clone, which is shallow: git fetch --unshallow brings it`
      : `commit ${commit} is not in this clone: git fetch origin ${commit} brings it`,
  );
}

/** What git prints; `undefined` when it fails. */
function git(folder: string, ...args: readonly string[]): string | undefined {
  const { status, stdout, error } = spawnSync("git", args, { cwd: folder, encoding: "utf8" });
  if (error) throw new Error(`git does not run: ${error.message}`);
  return status === 0 ? stdout.trim() : undefined;
}
