import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";
import { type Finding, findings, reasonOf } from "./finding.js";

/** Checks Node, the memory that it may use, and the port that an agent is to have. */
export async function checkMachine(port: number): Promise<readonly Finding[]> {
  return [checkNode(), checkMemory(), await checkPort(port)];
}

function checkNode(): Finding {
  const { ok, failed } = findings("node");
  const path = createRequire(import.meta.url).resolve("trivium/package.json");
  const { engines } = JSON.parse(readFileSync(path, "utf8")) as { readonly engines: { readonly node: string } };
  const wanted = engines.node.replace(">=", "");
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split(".").map(Number);
  const isNew = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return isNew ? ok(process.version) : failed(`${process.version}`, `install Node ${wanted} or newer`);
}

/** V8 needs memory beside its heap: buffers, code and threads. */
const heapPart = 0.8;

function checkMemory(): Finding {
  const { ok, warning } = findings("memory");
  const constrained = process.constrainedMemory();
  const isContainer = constrained > 0 && constrained < totalmem();
  const size = isContainer ? constrained : totalmem();
  const heap = getHeapStatistics().heap_size_limit;
  const where = isContainer ? "the container" : "the machine";
  const seen = `the heap may grow to ${mebibytes(heap)}, ${where} has ${mebibytes(size)}`;
  if (heap <= size * heapPart) return ok(seen);
  const wanted = Math.floor((size * 2) / 3 / 2 ** 20);
  return warning(seen, `set NODE_OPTIONS=--max-old-space-size=${wanted}, or give it more memory`);
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

const otherPort = "choose another port: PORT, or serve({ port })";

async function checkPort(port: number): Promise<Finding> {
  const { ok, warning, failed } = findings("port");
  const error = await listenError(port);
  if (error === undefined) return ok(`${port} is free`);
  const code = "code" in error ? error.code : undefined;
  if (code === "EACCES") {
    return failed(`${port} may not be opened by this user`, "choose a port of 1024 or more: PORT, or serve({ port })");
  }
  if (code !== "EADDRINUSE") return failed(`${port} cannot be opened: ${reasonOf(error)}`, otherPort);
  if (await isAgent(port))
    return ok(`${port} is taken by a running agent: trivium doctor http://127.0.0.1:${port} checks it`);
  return warning(`${port} is taken by another program`, `stop it, or ${otherPort}`);
}

function listenError(port: number): Promise<Error | undefined> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", resolve);
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(undefined)));
  });
}

async function isAgent(port: number): Promise<boolean> {
  const url = `http://127.0.0.1:${port}/.well-known/agent-card.json`;
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}
