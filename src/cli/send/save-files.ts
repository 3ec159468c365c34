import { mkdir, open, rm } from "node:fs/promises";
import { join, parse } from "node:path";
import { clientPolicy } from "../../binding/fetch/address-policy.js";
import type { ClientTls } from "../../binding/fetch/client-tls.js";
import { createNodeFetch } from "../../binding/fetch/node-fetch.js";
import { extensionOf } from "../../client/files/media-type.js";
import type { FileContent } from "../../protocol/content/read.js";
import { A2AError } from "../../protocol/errors.js";

/** The folder for the files, and settings for files that are fetched by URL. */
export interface SaveOptions {
  readonly folder: string;
  /** URL of the agent, whose machine may also have the files. */
  readonly agent: string;
  readonly tls: ClientTls | undefined;
  readonly signal: AbortSignal;
}

/** Writes the files of an answer into a folder, and returns their paths. Never replaces a file. */
export async function saveFiles(files: readonly FileContent[], options: SaveOptions): Promise<readonly string[]> {
  await mkdir(options.folder, { recursive: true });
  const paths: string[] = [];
  for (const [index, file] of files.entries()) paths.push(await save(file, options, index + 1));
  return paths;
}

async function save(file: FileContent, options: SaveOptions, position: number): Promise<string> {
  const pieces = file.url === undefined ? [file.bytes()] : fetchFile(file.url, options);
  const { path, handle } = await createFile(options.folder, safeName(file, position));
  try {
    for await (const piece of pieces) await handle.writeFile(piece);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
  return path;
}

/** A file name without folders, whatever name the agent has chosen. */
function safeName({ name = "", mediaType }: FileContent, position: number): string {
  const baseName = name.split(/[/\\]/).at(-1) ?? "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: characters that a name must not have
  const safe = baseName.replace(/[\u0000-\u001f\u007f<>:"|?*]/g, "_").replace(/^\.+/, "");
  return shortenName(safe) || `file-${position}${extensionOf(mediaType)}`;
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

/** Creates a file that did not exist, if need be with a number in its name. */
async function createFile(folder: string, name: string) {
  const { name: stem, ext } = parse(name);
  for (let number = 1; ; number++) {
    const path = join(folder, number === 1 ? name : `${stem}-${number}${ext}`);
    try {
      return { path, handle: await open(path, "wx") };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
}

/** Fetches a URL that the agent chose: without credentials, and not in a private network. */
async function* fetchFile(
  url: string,
  { agent, tls, signal }: SaveOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (!/^https?:/i.test(url))
    throw new A2AError("invalidAgentResponse", `a file is at ${url}, which is not an http(s) URL`);
  const policy = clientPolicy({ allowPrivate: undefined, cardHost: new URL(agent).hostname });
  const fetch = createNodeFetch({ policy, tls: { ca: tls?.ca } });
  try {
    const response = await fetch(url, { signal });
    if (!response.ok) throw new A2AError("unavailable", `${url} answered with HTTP status ${response.status}`);
    const reader = response.body?.getReader();
    for (let step = await reader?.read(); step?.value !== undefined; step = await reader?.read()) yield step.value;
  } finally {
    await fetch.close();
  }
}
