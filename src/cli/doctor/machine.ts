import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";
import { describeCause, type Finding, findings } from "./finding.js";

/** Checks Node, its memory, and the port that an agent will listen on. */
export async function checkMachine(port: number): Promise<readonly Finding[]> {
  return [checkNode(), checkMemory(), await checkPort(port)];
}

function checkNode(): Finding {
  const { ok, failed } = findings("node");
  const path = createRequire(import.meta.url).resolve("trivium/package.json");
  const { engines } = JSON.parse(readFileSync(path, "utf8")) as { readonly engines: { readonly node: string } };
  const requiredNode = engines.node.replace(">=", "");
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [requiredMajor = 0, requiredMinor = 0] = requiredNode.split(".").map(Number);
  const isNew = major > requiredMajor || (major === requiredMajor && minor >= requiredMinor);
  return isNew ? ok(process.version) : failed(`${process.version}`, `install Node ${requiredNode} or newer`);
}

/** Largest share of the memory for the heap: V8 also needs memory for buffers, code and threads. */
const heapPart = 0.8;

function checkMemory(): Finding {
  const { ok, warning } = findings("memory");
  const containerBytes = process.constrainedMemory();
  const isContainer = containerBytes > 0 && containerBytes < totalmem();
  const size = isContainer ? containerBytes : totalmem();
  const heap = getHeapStatistics().heap_size_limit;
  const where = isContainer ? "the container" : "the machine";
  const sizes = `the heap may grow to ${mebibytes(heap)}, ${where} has ${mebibytes(size)}`;
  if (heap <= size * heapPart) return ok(sizes);
  const heapMiB = Math.floor((size * 2) / 3 / 2 ** 20);
  return warning(sizes, `set NODE_OPTIONS=--max-old-space-size=${heapMiB}, or give it more memory`);
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
  if (code !== "EADDRINUSE") return failed(`${port} cannot be opened: ${describeCause(error)}`, otherPort);
  if (await hasAgent(port))
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

async function hasAgent(port: number): Promise<boolean> {
  const url = `http://127.0.0.1:${port}/.well-known/agent-card.json`;
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
}
