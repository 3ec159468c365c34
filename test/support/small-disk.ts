import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A disk of its own, in memory. */
interface SmallDisk extends Disposable {
  readonly folder: string;
}

/** Mounts a disk of this size. Needs a system that lets this process mount one. */
export function mountDisk(bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "trivium-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "trivium", folder], { stdio: "pipe" });
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  return {
    folder,
    [Symbol.dispose]() {
      execFileSync("umount", ["--lazy", folder], { stdio: "pipe" });
      rmSync(folder, { recursive: true });
    },
  };
}

/** Whether this process may mount a disk: as root on Linux, outside of most containers. */
export const mayMount = tryMount();

if (!mayMount) process.stderr.write("no disk can be mounted: its tests of a full disk are left out (they need root)\n");

function tryMount(): boolean {
  try {
    mountDisk(2 ** 16)[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}
