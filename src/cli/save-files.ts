import { randomUUID } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join, parse } from "node:path";
import { clientPolicy } from "../binding/fetch/address-policy.js";
import type { ClientTls } from "../binding/fetch/client-tls.js";
import { createNodeFetch } from "../binding/fetch/node-fetch.js";
import { findExtension } from "../client/files/media-type.js";
import { type Clock, callerClock, longestTimerMs } from "../protocol/async/clock.js";
import type { FileContent } from "../protocol/content/read.js";
import { A2AError } from "../protocol/errors.js";
import { replaceUnseen } from "./visible-text.js";

/** The folder for the files, limits, and settings for files that are fetched by URL. */
export interface SaveOptions {
  readonly folder: string;
  /** Limit of all files together, in bytes. The file that exceeds it is not saved. */
  readonly maxBytes: number;
  /** Time limit for fetching one file, in milliseconds. */
  readonly timeoutMs: number;
  /** URL of the agent, whose machine may also have the files. */
  readonly agent: string;
  readonly tls: ClientTls | undefined;
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
}

/** How long a server may send nothing before its file is given up, in milliseconds. */
export const idleTimeoutMs = 30_000;

/**
 * Writes the files of an answer into a folder, and yields the path of each complete file. Never replaces a file. An
 * incomplete file has a temporary name, and is removed when it cannot be saved or `signal` aborts.
 */
export async function* saveFiles(
  files: readonly FileContent[],
  options: SaveOptions,
): AsyncGenerator<string, void, undefined> {
  await mkdir(options.folder, { recursive: true });
  let savedBytes = 0;
  for (const [index, file] of files.entries()) {
    const { path, bytes } = await save(file, options, { position: index + 1, savedBytes });
    savedBytes += bytes;
    yield path;
  }
}

async function save(
  file: FileContent,
  options: SaveOptions,
  { position, savedBytes }: { readonly position: number; readonly savedBytes: number },
): Promise<{ readonly path: string; readonly bytes: number }> {
  options.signal.throwIfAborted();
  const draft = join(options.folder, `.trivium-${randomUUID()}.part`);
  const handle = await open(draft, "wx");
  let bytes = 0;
  try {
    try {
      const pieces = file.url === undefined ? [file.bytes()] : fetchFile(file.url, options);
      for await (const piece of pieces) {
        bytes += piece.length;
        if (savedBytes + bytes > options.maxBytes) throw tooLarge(file, options);
        await handle.writeFile(piece);
      }
    } finally {
      await handle.close();
    }
    return { path: await moveToFreeName(draft, options.folder, safeName(file, position)), bytes };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function tooLarge({ name, url }: FileContent, { maxBytes }: SaveOptions): A2AError {
  const what = url ?? JSON.stringify(name ?? "a file");
  return new A2AError(
    "contentTooLarge",
    `${what} is not saved: the files would exceed ${maxBytes} bytes, the limit of --max-bytes`,
  );
}

/** A file name without folders, whatever name the agent has chosen. */
function safeName({ name = "", mediaType }: FileContent, position: number): string {
  const baseName = name.split(/[/\\]/).at(-1) ?? "";
  const safe = replaceUnseen(baseName, () => "_")
    .replace(/[<>:"|?*]/g, "_")
    .replace(/^\.+/, "");
  return shortenName(safe) || `file-${position}${findExtension(mediaType)}`;
}

/** The end of a name that is too long: file systems take 255 bytes, and a number may be added. */
function shortenName(name: string): string {
  const bytes = Buffer.from(name);
  return bytes.length <= nameMaxBytes
    ? name
    : bytes
        .subarray(-nameMaxBytes)
        .toString()
        .replace(/^[\ufffd.]+/, "");
}

const nameMaxBytes = 240;

/** Gives a file its name, with a number if the name is taken. */
async function moveToFreeName(draft: string, folder: string, name: string): Promise<string> {
  const { name: stem, ext } = parse(name);
  for (let number = 1; ; number++) {
    const path = join(folder, number === 1 ? name : `${stem}-${number}${ext}`);
    try {
      // A rename would replace a file, and not every file system has links.
      await (await open(path, "wx")).close();
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EEXIST") continue;
      throw error;
    }
    try {
      await rename(draft, path);
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  }
}

/** Fetches a URL that the agent chose: without credentials, and not in a private network. */
async function* fetchFile(
  url: string,
  { agent, tls, signal, timeoutMs, clock = callerClock }: SaveOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (!/^https?:/i.test(url))
    throw new A2AError("invalidAgentResponse", `a file is at ${url}, which is not an http(s) URL`);
  const policy = clientPolicy({ allowPrivate: undefined, cardHost: new URL(agent).hostname });
  const fetch = createNodeFetch({ policy, tls: { ca: tls?.ca } });
  const limit = new AbortController();
  const abortAfter = (ms: number, reason: () => A2AError): (() => void) =>
    clock.after(Math.min(ms, longestTimerMs), () => limit.abort(reason()));
  const silence = (): (() => void) =>
    abortAfter(
      idleTimeoutMs,
      () => new A2AError("unavailable", `${url} has sent nothing for ${idleTimeoutMs / 1000} s`),
    );
  const stopTimer = abortAfter(timeoutMs, () => {
    const time = `${timeoutMs / 1000} s`;
    return new A2AError("unavailable", `${url} is incomplete after ${time}, the limit of --save-timeout`);
  });
  let stopSilence = silence();
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, limit.signal]) });
    if (!response.ok) throw new A2AError("unavailable", `${url} answered with HTTP status ${response.status}`);
    const reader = response.body?.getReader();
    for (;;) {
      const piece = (await reader?.read())?.value;
      stopSilence();
      if (piece === undefined) return;
      yield piece;
      // The time of a slow disk does not count as silence of the server.
      stopSilence = silence();
    }
  } finally {
    stopSilence();
    stopTimer();
    await fetch.close();
  }
}
