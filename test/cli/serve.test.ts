import { existsSync } from "node:fs";
import { join } from "node:path";
import { Client } from "trivium";
import { describe, expect, it } from "vitest";
import { trivium } from "../support/command.js";
import { cardAt, project } from "../support/served-project.js";

const card = '{ name: "Echo", description: "Repeats what you say", version: "1.0.0" }';
const echo = `import { artifact, type ServeOptions } from "trivium";
export default {
  card: ${card},
  publicUrl: "https://module.example",
  async *agent({ text }) { yield artifact(text); },
} satisfies ServeOptions;
`;

describe.concurrent("trivium serve", () => {
  it("trivium serve serves the options that a module exports, and ends with 0", async () => {
    await using own = await project();
    await own.write("agent.ts", echo);
    const served = await own.serving(["agent.ts", "--port", "0"]);
    // The URLs of its card are those of `publicUrl`, where nothing listens.
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const body = JSON.stringify({ message });
    const answer = await fetch(`${served.url}/http-json/message:send`, { method: "POST", headers, body });
    expect(await answer.text()).toContain('"artifacts":[{');
    expect(await served.stop()).toBe(0);
  });

  it("trivium serve serves an agent alone, with the card of its package", async () => {
    await using own = await project();
    await own.write(
      "package.json",
      JSON.stringify({ name: "yes-man", description: "Agrees", version: "2.0.0", type: "module" }),
    );
    await own.write("agent.js", 'import { reply } from "trivium";\nexport default async () => reply("yes");\n');
    await using served = await own.serving(["agent.js"], { PORT: "0" });
    expect(await cardAt(served.url)).toMatchObject({ name: "yes-man", description: "Agrees", version: "2.0.0" });
    await using client = await Client.connect(served.url);
    expect((await client.send("really?")).text).toBe("yes");
  });

  it("trivium serve serves several agents, and names each", async () => {
    await using own = await project();
    const agent = (name: string): string =>
      `{ card: { name: "${name}", description: "d", version: "1.0.0" }, agent: async () => reply("${name}") }`;
    const agents = `{ "/weather": ${agent("Weather")}, "/travel": ${agent("Travel")} }`;
    await own.write("agents.js", `import { reply } from "trivium";\nexport default { agents: ${agents} };\n`);
    await using served = await own.serving(["agents.js", "--port", "0", "--store", "tasks.db"]);
    for (const [path, name] of [
      ["/weather", "Weather"],
      ["/travel", "Travel"],
    ] as const) {
      await using client = await Client.connect(new URL(path, served.url));
      expect((await client.send("who?")).text).toBe(name);
    }
    expect(await served.stop()).toBe(0);
    const { origin } = new URL(served.url);
    expect(served.printed()).toBe(`Weather listens at ${origin}/weather\nTravel listens at ${origin}/travel\n`);
  });

  it("trivium serve fills in what a card lacks on a loopback address", async () => {
    await using own = await project();
    await own.write("echo.agent.mjs", "export default async () => {};\n");
    const started = async () => {
      await using served = await own.serving(["echo.agent.mjs"], { PORT: "0" });
      return await cardAt(served.url);
    };
    const description = "The agent of echo.agent.mjs";
    expect(await started()).toMatchObject({ name: "echo.agent", description, version: "0.0.0" });
    await own.write("package.json", JSON.stringify({ name: "new", description: "", version: "1.0.0" }));
    expect(await started()).toMatchObject({ name: "new", description, version: "1.0.0" });
  });

  it("trivium serve says which part of a card its package lacks where other machines can reach it", async () => {
    await using own = await project();
    await own.write("agent.mjs", "export default async () => {};\n");
    const args = ["serve", "agent.mjs", "--port", "0", "--host", "0.0.0.0", "--anonymous"];
    const started = () => trivium(args, { cwd: own.folder });
    expect((await started()).stderr).toMatch(/^error: agent.mjs exports no card, and there is no package.json: export/);
    await own.write("package.json", JSON.stringify({ name: "new", description: "", version: "1.0.0" }));
    const { code, stderr } = await started();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: agent.mjs exports no card, and .*package.json has no description: export/);
  });

  it.each([
    ["in the module", "agent.mjs", "const tide = ;"],
    ["in what the module imports", "tides.mjs", "export const tide = ;"],
    ["in the configuration", "trivium.config.mjs", "export default { port: };"],
  ])("trivium serve shows file and line of a syntax error %s, and runs nothing of it", async (_, wrong, line) => {
    await using own = await project();
    const source =
      'import { writeFileSync } from "node:fs";\nwriteFileSync("ran", "");\nexport default async () => {};\n';
    await own.write("agent.mjs", wrong === "tides.mjs" ? `import "./tides.mjs";\n${source}` : source);
    await own.write(wrong, `// The tides.\n${line}\n`);
    const { code, stderr } = await trivium(["serve", "agent.mjs", "--port", "0"], { cwd: own.folder });
    expect(code).toBe(1);
    const file = wrong === "trivium.config.mjs" ? wrong : "agent.mjs";
    expect(stderr).toContain(`error: ${file} cannot be loaded: file://`);
    expect(stderr).toContain(`/${wrong}:2\n${line}\n`);
    expect(stderr).toMatch(/SyntaxError: Unexpected token '[;}]'\n$/);
    expect(existsSync(join(own.folder, "ran"))).toBe(wrong === "trivium.config.mjs");
  });

  it.each([
    [
      "a flag before all",
      ["--public-url", "https://flag.example"],
      { TRIVIUM_PUBLIC_URL: "https://env.example" },
      "flag",
    ],
    ["the environment before files", [], { TRIVIUM_PUBLIC_URL: "https://env.example" }, "env"],
    ["a configuration by name", ["--config", "other.ts"], {}, "other"],
    ["trivium.config.ts before the module", [], {}, "config"],
  ] as const)("trivium serve takes an option from %s", async (_, args, env, from) => {
    await using own = await project();
    await own.write("agent.ts", echo);
    const config = (name: string): string => `export default { publicUrl: "https://${name}.example", port: 0 };\n`;
    await own.write("trivium.config.ts", config("config"));
    await own.write("other.ts", config("other"));
    await using served = await own.serving(["agent.ts", ...args], env);
    expect((await cardAt(served.url)).supportedInterfaces[0]?.url).toBe(`https://${from}.example/json-rpc`);
  });

  it.each([
    ["the configuration has the name of 0.1", "securityDeclaration", "declares"],
    ["the module has the name of 0.1", "declares", "securityDeclaration"],
  ])("takes an option from the configuration before the module where %s", async (_, inModule, inConfiguration) => {
    await using own = await project();
    const declaration = (scheme: string): string =>
      `{ schemes: { ${scheme}: { httpAuthSecurityScheme: { scheme: "Bearer" } } } }`;
    const source = `{ card: ${card}, authenticate: () => ({ owner: "o" }), agent: async () => {}`;
    await own.write("agent.mjs", `export default ${source}, ${inModule}: ${declaration("ofModule")} };\n`);
    await own.write(
      "trivium.config.mjs",
      `export default { ${inConfiguration}: ${declaration("ofConfiguration")} };\n`,
    );
    await using served = await own.serving(["agent.mjs", "--port", "0"]);
    expect(await cardAt(served.url)).toMatchObject({ securitySchemes: { ofConfiguration: {} } });
    expect(await cardAt(served.url)).not.toMatchObject({ securitySchemes: { ofModule: {} } });
  });

  it.each(["agent.mjs", "trivium.config.mjs"])("refuses an option under both of its names in %s", async (file) => {
    await using own = await project();
    await own.write("agent.mjs", `export default { card: ${card}, agent: async () => {} };\n`);
    const both = "securityDeclaration: {}, declares: {}";
    await own.write(file, `export default { card: ${card}, agent: async () => {}, ${both} };\n`);
    const { code, stdout, stderr } = await trivium(["serve", "agent.mjs", "--port", "0"], { cwd: own.folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(
      `${file}: declares and securityDeclaration are one option: take out declares, its name in 0.1`,
    );
  });

  it.each([
    ["there is no such file", undefined, "error: there is no file agent.ts"],
    ["its module exports something else", "export default 7;", "error: agent.ts exports no agent by default"],
    ["its module fails, showing where", "\nthrow new Error('no key');", "no key\n    at .*file:///.*/agent.ts:2:"],
    [
      "an option is unknown",
      `export default { card: ${card}, agnt: 1, agent: async () => {} };`,
      "agnt cannot be given: did you mean agent\\?",
    ],
  ])("trivium serve says in words when %s", async (_, source, reason) => {
    await using own = await project();
    if (source !== undefined) await own.write("agent.ts", source);
    const { code, stdout, stderr } = await trivium(["serve", "agent.ts", "--port", "0"], { cwd: own.folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(reason));
  });
});
