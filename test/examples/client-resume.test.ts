import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type RunningExample, startExample, watchProgram } from "../support/example.js";
import { fixedPort } from "../support/fixed-port.js";
import { silentRelay } from "../support/silent-relay.js";

let folder: string;
let server: RunningExample | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-resume-"));
});
afterEach(async () => {
  await server?.stop("SIGKILL");
  rmSync(folder, { recursive: true });
});

const start = async (env: Readonly<Record<string, string>>): Promise<RunningExample> => {
  server = await startExample("client-resume", { STORE: join(folder, "tasks.db"), LINE_MS: "30", ...env });
  return server;
};

const lines = Array.from({ length: 20 }, (_, index) => `Line ${index + 1}.`);
const expected = ["no answer over GRPC", "connected over JSONRPC", ...lines, "the second report is canceled", ""];

it("the example client-resume falls back, reads each line once over connections that break, and cancels", async () => {
  const port = await fixedPort();
  await using relay = await silentRelay(port);
  await start({ PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${relay.port}` });
  const client = watchProgram("examples/client-resume/client.ts", [`http://127.0.0.1:${relay.port}`]);
  for (const line of [3, 7, 11, 15]) {
    await client.waitForOutput(`Line ${line}.`);
    relay.cut();
  }
  const { code, output } = await client.result;
  expect(output.split("\n")).toEqual(expected);
  expect(code).toBe(0);
});

// Its tasks are known to be without a process 15 seconds after the last sign of one.
it("the example client-resume reads each line once though the server is killed and started again", {
  timeout: 60_000,
}, async () => {
  const port = String(await fixedPort());
  const killed = await start({ PORT: port });
  const client = watchProgram("examples/client-resume/client.ts", [killed.url]);
  await client.waitForOutput("Line 5.");
  await killed.stop("SIGKILL");
  await start({ PORT: port });
  const { code, output } = await client.result;
  // How often the client looks for the server depends on how long its start takes.
  const isFromAgent = (line: string) => !/^(?:no answer|connected) over /.test(line);
  expect(output.split("\n").filter(isFromAgent)).toEqual(expected.filter(isFromAgent));
  expect(code).toBe(0);
});
