import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { type ByteStream, fileFrom } from "trivium";
import { describe, expect, it, onTestFinished } from "vitest";

const bytes = new Uint8Array([1, 2, 250, 4]);

async function written(content: Uint8Array | string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "trivium-file-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "chart.bin");
  await writeFile(path, content);
  return path;
}

async function* pieces(...all: readonly (Uint8Array | string)[]): AsyncGenerator<Uint8Array | string> {
  yield* all;
}

/** An endless stream, and whether it was closed. */
function endless(): { readonly stream: ByteStream; isClosed: boolean } {
  const state = { stream: run(), isClosed: false };
  async function* run(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield new Uint8Array(1000);
    } finally {
      state.isClosed = true;
    }
  }
  return state;
}

describe("fileFrom", () => {
  it("fileFrom reads a path or a file URL, and keeps the name", async () => {
    const path = await written(bytes);
    for (const source of [path, pathToFileURL(path)]) {
      expect(await fileFrom(source, { mediaType: "image/x-chart" })).toMatchObject({
        filename: "chart.bin",
        mediaType: "image/x-chart",
        content: { case: "raw", value: bytes },
      });
    }
  });

  it("fileFrom knows the media types of common extensions, and takes one that is given", async () => {
    const types = async (filename: string, mediaType?: string) => {
      const part = await fileFrom(pieces("x"), { filename, mediaType });
      return part.mediaType;
    };
    expect(await types("Depths.CSV")).toBe("text/csv");
    expect(await types("chart.png", "image/x-chart")).toBe("image/x-chart");
    for (const rare of ["chart.bin", "csv", "a.constructor"]) expect(await types(rare)).toBe("");
    expect((await fileFrom(new URL("../../../package.json", import.meta.url))).mediaType).toBe("application/json");
  });

  it.each<[string, () => ByteStream, Uint8Array]>([
    ["of Node", () => Readable.from([Buffer.from([1, 2]), Buffer.from([250, 4])]), bytes],
    ["of the web", () => new Response(bytes).body ?? expect.fail("no body"), bytes],
    ["of another kind", () => pieces(bytes.subarray(0, 3), bytes.subarray(3)), bytes],
    ["of strings", () => pieces("nä", "h"), new TextEncoder().encode("näh")],
    ["without anything", () => pieces(), new Uint8Array(0)],
  ])("fileFrom reads a stream %s", async (_, open, expected) => {
    const part = await fileFrom(open(), { filename: "a.bin" });
    expect([part.filename, part.content.value]).toEqual(["a.bin", expected]);
  });

  it("fileFrom takes as many bytes as the limit, which is 4 MiB by default", async () => {
    expect((await fileFrom(await written("abcd"), { maxBytes: 4 })).content.value).toHaveLength(4);
    const most = await fileFrom(pieces(new Uint8Array(4 << 20)));
    expect(most.content.value).toHaveLength(4 << 20);
    await expect(fileFrom(pieces(new Uint8Array((4 << 20) + 1)))).rejects.toThrow(
      "the stream is at least 1 bytes over the limit of 4,194,304: raise maxBytes",
    );
  });

  it("fileFrom refuses a file over the limit by its size, and says what raises the limit", async () => {
    const path = await written(new Uint8Array(3000));
    await expect(fileFrom(path, { maxBytes: 1000 })).rejects.toThrow(
      new RangeError(
        "fileFrom(): chart.bin is 2,000 bytes over the limit of 1,000: raise maxBytes " +
          "(and eventMaxBytes or contentMaxBytes of the agent), or send a URL with file()",
      ),
    );
  });

  it("fileFrom stops at the limit of a stream or of a file without a size, and closes it", async () => {
    const state = endless();
    await expect(fileFrom(state.stream, { maxBytes: 2500, filename: "log" })).rejects.toThrow(
      "fileFrom(): log is at least 500 bytes over the limit of 2,500: ",
    );
    expect(state.isClosed).toBe(true);
    await expect(fileFrom("/dev/zero", { maxBytes: 2500 })).rejects.toThrow("zero is at least ");
  });

  it.each<[string, unknown, string]>([
    ["bytes", bytes, "not a value of type object: use file() for bytes and other URLs, and fileOf() for a Blob"],
    ["a URL of the web", new URL("https://x.example/a"), "not https://x.example/a: use file()"],
    ["a Blob", new Blob(["x"]), "and fileOf() for a Blob"],
    ["nothing", undefined, "not a value of type undefined"],
    [
      "a stream of objects",
      Readable.from([{ a: 1 }]),
      "the stream must give bytes or strings, not values of type object",
    ],
  ])("fileFrom refuses %s", async (_, source, message) => {
    const call = fileFrom(source as string);
    await expect(call).rejects.toThrow(TypeError);
    await expect(call).rejects.toThrow(message);
  });

  it.each<[object, string]>([
    [{ maxByte: 5 }, "fileFrom(): maxByte cannot be given: did you mean maxBytes?"],
    [{ maxBytes: "5" }, 'fileFrom(): maxBytes must be a number of 0 or more, not "5"'],
  ])("fileFrom refuses the options %j", async (options, message) => {
    await expect(fileFrom("a", options)).rejects.toThrow(new TypeError(message));
  });

  it("fileFrom rejects as the file system or the stream does", async () => {
    await expect(fileFrom(join(tmpdir(), "trivium-none"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fileFrom(tmpdir())).rejects.toMatchObject({ code: "EISDIR" });
    const broken = Readable.from([]);
    broken.destroy(new Error("the disk is gone"));
    await expect(fileFrom(broken)).rejects.toThrow("the disk is gone");
  });
});
