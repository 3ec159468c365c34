import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, artifact, data, file, type Server, serve, text } from "trivium";
import { afterAll, beforeAll, expect, it } from "vitest";
import { trivium } from "../support/command.js";

const files = createServer((request, response) => {
  response.writeHead(request.url === "/chart.png" ? 200 : 404).end("a picture");
});

/** Answers with what it got, or with the files that the message names. */
const agent: Agent = async function* (turn) {
  const bytes = (name: string) => file(Buffer.from(`this is ${name}`), { filename: name });
  if (turn.text === "same") return yield artifact([bytes("a.txt"), bytes("a.txt")]);
  if (turn.text === "outside") return yield artifact([bytes("../../outside.txt"), bytes("C:\\.hidden"), bytes("..")]);
  if (turn.text === "long") return yield artifact(bytes(`${"深".repeat(300)}.txt`));
  if (turn.text === "unnamed") return yield artifact(file(Buffer.from("1,2"), { mediaType: "text/csv" }));
  if (turn.text.startsWith("http")) return yield artifact([text("here"), file(turn.text, { filename: "chart.png" })]);
  const descriptions = turn.files.map(({ name, mediaType, bytes }) => `${name} ${mediaType} ${bytes().length}`);
  yield artifact(data({ text: turn.text, descriptions, data: turn.data() ?? null }));
};

let server: Server;
let origin: string;
beforeAll(async () => {
  server = await serve({ card: { name: "Files", description: "Knows files", version: "1" }, agent, port: 0 });
  files.listen(0, "127.0.0.1");
  await once(files, "listening");
  const address = files.address();
  origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
});
afterAll(async () => {
  files.close();
  await server.close();
});

const folder = (): string => mkdtempSync(join(tmpdir(), "trivium-send-"));
const send = (...parts: string[]) => trivium(["send", server.url, ...parts]);

it("trivium send sends files with their media types, and data, with a text or without one", async () => {
  const path = join(folder(), "depths.csv");
  const other = join(folder(), "log.other");
  writeFileSync(path, "12,9");
  writeFileSync(other, "x");
  const { code, stdout } = await send("--file", path, "--file", other, "--data", '{"column":"depth"}');
  expect(code).toBe(0);
  const descriptions = ["depths.csv text/csv 4", "log.other undefined 1"];
  expect(JSON.parse(stdout)).toEqual({ text: "", descriptions, data: { column: "depth" } });
  const both = await send("Sum it up.", "--file", path);
  expect(JSON.parse(both.stdout)).toEqual({ text: "Sum it up.", descriptions: [descriptions[0]], data: null });
});

it("trivium send writes the files of an answer into a folder, and never over another file", async () => {
  const to = join(folder(), "new");
  const { stdout, stderr } = await send("same", "--save", to);
  expect([stdout, stderr]).toEqual(["", `saved ${join(to, "a.txt")}\nsaved ${join(to, "a-2.txt")}\n`]);
  await send("same", "--save", to);
  expect(readdirSync(to).sort()).toEqual(["a-2.txt", "a-3.txt", "a-4.txt", "a.txt"]);
  expect(readFileSync(join(to, "a.txt"), "utf8")).toBe("this is a.txt");
  await send("unnamed", "--save", to);
  expect(readFileSync(join(to, "file-1.csv"), "utf8")).toBe("1,2");
});

it("trivium send names files that it does not save", async () => {
  const { stderr } = await send("same");
  expect(stderr).toBe('file "a.txt": 13 bytes (--save <folder> writes it)\n'.repeat(2));
});

it("trivium send writes no file outside of the folder, however the agent calls it", async () => {
  const to = folder();
  await send("outside", "--save", to);
  expect(readdirSync(to).sort()).toEqual(["file-3", "hidden", "outside.txt"]);
  expect(existsSync(join(to, "..", "..", "outside.txt"))).toBe(false);
});

it("trivium send shortens a name that no file system takes", async () => {
  const to = folder();
  expect(await send("long", "--save", to)).toMatchObject({ code: 0 });
  expect(readdirSync(to)).toEqual([`${"深".repeat(78)}.txt`]);
});

it("trivium send fetches files that are given by their URL", async () => {
  const to = folder();
  const { stdout } = await send(`${origin}/chart.png`, "--save", to);
  expect(stdout).toBe("here\n");
  expect(readFileSync(join(to, "chart.png"), "utf8")).toBe("a picture");
  const missing = await send(`${origin}/nothing`, "--save", to);
  expect(missing).toMatchObject({ code: 1, stderr: `unavailable: ${origin}/nothing answered with HTTP status 404\n` });
  const inside = await send("http://10.0.0.1/secret", "--save", to);
  expect(inside).toMatchObject({ code: 1, stderr: expect.stringContaining("10.0.0.1") });
  expect(readdirSync(to)).toEqual(["chart.png"]);
});

it("trivium send says what it cannot send", async () => {
  expect(await send()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nothing to send: give a text, --file or --data"),
  });
  expect(await send("--data", "{")).toMatchObject({ code: 2, stderr: expect.stringContaining("--data is not JSON: ") });
  expect(await send("--file", "/nowhere")).toMatchObject({ code: 1, stderr: expect.stringContaining("/nowhere") });
});
