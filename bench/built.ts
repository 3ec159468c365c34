import { pathToFileURL } from "node:url";

/**
 * The built package, the one that users get. `TRIVIUM_DIST` names the `dist` folder of another revision to measure.
 * Loaded by path: `bench/package.json` makes this folder a package of its own, which ends the self reference.
 */
const elsewhere = process.env["TRIVIUM_DIST"];
const dist = elsewhere ? pathToFileURL(`${elsewhere}/`) : new URL("../dist/", import.meta.url);

/** The address of a file of the build. */
export function builtFile(path: string): string {
  return new URL(path, dist).href;
}

export function loadTrivium(): Promise<typeof import("../src/index.js")> {
  return import(builtFile("src/index.js"));
}

type Messages = typeof import("../gen/lf/a2a/v1/a2a_pb.js");

/** The messages and enums of the protocol, by the names that generated code has for them. */
export async function loadMessages(): Promise<Messages> {
  // A build may have no more of the generated code than the description of the file.
  const { file_lf_a2a_v1_a2a: file }: Messages = await import(builtFile("gen/lf/a2a/v1/a2a_pb.js"));
  const messages = file.messages.map((message) => [`${message.name}Schema`, message]);
  const enums = file.enums.map(({ name, values }) => [
    name,
    Object.fromEntries(values.map(({ localName, number }) => [localName, number])),
  ]);
  return Object.fromEntries([...messages, ...enums]);
}
