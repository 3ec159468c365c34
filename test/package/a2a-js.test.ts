import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { blocksOf } from "../docs/pages.js";
import { fixedPort } from "../support/fixed-port.js";
import { createProject, type Project } from "./project.js";

// Executors that are written against the real `@a2a-js/sdk`, in both of its generations.

const strict = {
  ...{
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
  },
  ...{ module: "nodenext", target: "es2024", types: ["node"], allowImportingTsExtensions: true },
};

let project: Project;
beforeAll(async () => {
  const sdks = ["@a2a-js/sdk@1", "sdk-0.3@npm:@a2a-js/sdk@0.3"];
  project = await createProject(...sdks, "express@5", "typescript@5.9", "@types/node@24");
  for (const file of ["newer.ts", "older.ts", "main.ts"]) {
    await project.write(file, readFileSync(`test/package/a2a-js/${file}`, "utf8"));
  }
  await project.write("tsconfig.json", JSON.stringify({ compilerOptions: strict, files: ["main.ts"] }));
});

it("trivium/a2a-js accepts the classes of each generation, and no others, by their types", async () => {
  expect((await project.run(process.execPath, "node_modules/typescript/bin/tsc")).output).toBe("");
});

it("trivium/a2a-js hosts executors of 1.x and 0.3 that answer, stream, ask, stop and refuse", async () => {
  const { output } = await project.run(process.execPath, "main.ts");
  const expected = ["1.x", "0.3"].flatMap((sdk) =>
    [
      "message hello world",
      'completed a.ts:one a.ts:two a.ts:three b.ts:one b.ts:two b.ts:three ["one\\ntwo\\nthree\\n","one\\ntwo\\nthree\\n"]',
      "input-required which year? → completed found by anonymous: a film, which year?, 1994",
      "canceled stopped searching",
      expect.stringMatching(/^unsupportedOperation .*no such film$/),
    ].map((line) => (typeof line === "string" ? `${sdk} ${line}` : line)),
  );
  const lines = output.split("\n").filter((line) => /^(?:1\.x|0\.3) /.test(line));
  expect(
    lines.map((line) => line.replace(/^\S+ (?=unsupported)/, "")),
    output,
  ).toEqual(expected);
});

it("the guide of a2a-js runs what it says to replace: a server, an executor and a client of the SDK", async () => {
  const blocks = blocksOf("docs/guides/migrate-from-a2a-js.md").filter(({ language }) => language === "js");
  const [server = "", executor = "", , , client = ""] = blocks.map(({ code }) => code);
  const url = `http://127.0.0.1:${await fixedPort()}`;
  const program = `
import { AgentCard, Message, SendMessageRequest, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";
const chapters = ["tides", "winds"];
const write = async (chapter) => \`about \${chapter}\`;
const show = (parts) => console.log(parts.map(({ content }) => content.value).join(""));
const supportedInterfaces = [{ url: "${url}/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
const card = AgentCard.fromJSON({ name: "Report", version: "1.0.0", capabilities: { streaming: true }, supportedInterfaces });
${executor}
const TideExecutor = Report;
${server.replace("app.listen(41241)", `await new Promise((listening) => app.listen(${new URL(url).port}, "127.0.0.1", listening))`)}
${client.replace("https://agent.example", url)}
process.exit();
`;
  await project.write("before.mjs", program);
  const { code, output } = await project.run(process.execPath, "before.mjs");
  expect(output).toBe("about tides\nabout winds\n");
  expect(code).toBe(0);
});
