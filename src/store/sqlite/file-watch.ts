import { close, open, read } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { StoreError } from "../sql/store-error.js";

// Writes to a file that is no longer at its path are lost with the process, and SQLite does not notice. So the files at the
// paths are compared with the opened files:
//
// | what was done                                  | how it shows                                                 |
// |------------------------------------------------|--------------------------------------------------------------|
// | `rm`, the folder removed or renamed            | the path leads nowhere                                       |
// | `mv` or `rsync` of another file, a link turned | the path leads to another inode                              |
// | `cp` of another file                           | the header of the file cannot follow the last one            |
//
// SQLite raises a counter in the header when it reads the header and then changes it. A connection that has the header in its
// cache writes the same counter again, with other sizes. So an equal counter proves nothing, and an earlier copy with a lower
// one is recognized. Several processes may write, so the counter may rise at any time.

/** Compares the files at the paths of a database with the opened files. */
export interface FileWatch {
  /** Returns what happened to the files; `undefined`: nothing. */
  check(): Promise<Move | undefined>;
  /** Takes the present log and its index as the opened ones. Call it when the database was opened again. */
  renewLogs(): Promise<void>;
  /** Releases the file descriptor. Call it once the database is closed. */
  close(): Promise<void>;
}

/** A change of the files by someone else. */
interface Move {
  readonly error: StoreError;
  /** Whether only the write-ahead log is gone: the database can still take its contents. */
  readonly isLogGone: boolean;
}

/** A path, and the file at it when it was opened. */
interface Opened {
  readonly path: string;
  readonly identity: string;
}

/** SQLite's header. It has a counter of changes, and the page size and journal mode, which stay while the file is open. */
const headerBytes = 100;
const counterAt = 24;
const fixed = [16, 20] as const;

/**
 * Call it once the database has been opened and written. `path`: as the options name it. `file`: the path that SQLite
 * reports. Returns `undefined` when no file is there, as for a database that another VFS keeps.
 */
export async function watchFile(path: string, file: string): Promise<FileWatch | undefined> {
  const named = path.startsWith("file:") ? file : resolve(path);
  const identify = async (path: string): Promise<Opened> => ({ path, identity: await identityAt(path) });
  const readLogs = () => Promise.all([identify(`${file}-wal`), identify(`${file}-shm`)]);
  const database = await identify(named);
  if (database.identity === nowhere) return undefined;
  let logs = await readLogs();
  const { fd, release } = await hold(named, database.identity);
  let header = await readHeader(fd);
  return {
    async check() {
      const moved = await findMoved([database]);
      if (moved !== undefined) return { error: movedError(file, moved, remedies.database), isLogGone: false };
      const now = await readHeader(fd).catch(() => header);
      if (!mayFollow(header, now)) {
        return { error: movedError(file, `${named} was overwritten`, remedies.database), isLogGone: false };
      }
      header = now;
      const movedLog = await findMoved(logs);
      if (movedLog === undefined) return undefined;
      const isLogGone = (await identityAt(`${file}-wal`)) === nowhere;
      return { error: movedError(file, movedLog, remedies.log), isLogGone };
    },
    async renewLogs() {
      logs = await readLogs();
    },
    close: release,
  };
}

/** Says which file is no longer at its path. A file that was not there at first does not count. */
async function findMoved(files: readonly Opened[]): Promise<string | undefined> {
  for (const { path, identity } of files) {
    const now = await identityAt(path);
    if (now === identity || now === unknown || identity === unknown || identity === nowhere) continue;
    return now === nowhere ? `${path} is gone` : `${path} is another file`;
  }
  return undefined;
}

const remedies = {
  database:
    "stop all processes that use it, put the right file in its place, without the -wal and -shm files of another one, and start them again",
  log: "stop all processes that use it, and start them again",
} as const;

function movedError(file: string, what: string, remedy: string): StoreError {
  return new StoreError(
    "moved",
    `${file} was removed, replaced or overwritten while it was in use (${what}), so nothing is written any more: ${remedy}`,
  );
}

const nowhere = "nowhere";
const unknown = "unknown";

/** Identifies the file at a path, by device and inode. */
async function identityAt(path: string): Promise<string> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    // After other errors the file may still be there. If the disk fails, writes fail too.
    return code === "ENOENT" || code === "ENOTDIR" ? nowhere : unknown;
  }
}

function mayFollow(before: Buffer, now: Buffer): boolean {
  if (before.length < headerBytes) return true;
  if (now.length < headerBytes) return false;
  if (before.compare(now, ...fixed, ...fixed) !== 0) return false;
  const rise = (now.readUInt32BE(counterAt) - before.readUInt32BE(counterAt)) | 0;
  return rise >= 0;
}

/** The header on disk. A checkpoint may be writing it, so it counts once two reads agree. */
async function readHeader(fd: number): Promise<Buffer> {
  for (let before = await readStart(fd); ; ) {
    const now = await readStart(fd);
    if (now.equals(before)) return now;
    before = now;
  }
}

const readAt = promisify(read);

async function readStart(fd: number): Promise<Buffer> {
  const { bytesRead, buffer } = await readAt(fd, Buffer.alloc(headerBytes), 0, headerBytes, 0);
  return buffer.subarray(0, bytesRead);
}

interface Descriptor {
  readonly fd: Promise<number>;
  users: number;
}

const descriptors = new Map<string, Descriptor>();

const openFile = promisify(open);
const closeFile = promisify(close);

/**
 * Opens a file to read it beside SQLite. When a process closes any descriptor of a file, POSIX drops all its locks on the
 * file, also those of SQLite. So all watches of a file in this process share one descriptor, which the last of them closes.
 */
async function hold(path: string, identity: string): Promise<{ readonly fd: number; release(): Promise<void> }> {
  const held = descriptors.get(identity) ?? { fd: openFile(path, "r"), users: 0 };
  descriptors.set(identity, held);
  held.users += 1;
  const release = async (): Promise<void> => {
    held.users -= 1;
    if (held.users > 0) return;
    descriptors.delete(identity);
    await closeFile(await held.fd);
  };
  return { fd: await held.fd, release };
}
