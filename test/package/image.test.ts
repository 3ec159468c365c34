import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "trivium";
import { describe, expect, inject, it } from "vitest";
import { blocksOf } from "../docs/pages.js";
import { fixedPort } from "../support/fixed-port.js";
import { mayLayer, startImage } from "./image.js";
import { createProject, type Project } from "./project.js";

const agent = `
import { artifact, serve } from "trivium";

const { PORT, PUBLIC_URL } = process.env;
await serve({
  card: { name: "Harbour", description: "Repeats what you say", version: "1.0.0" },
  async *agent({ text }: { readonly text: string }) {
    yield artifact(text);
  },
  host: "0.0.0.0",
  port: Number(PORT),
  publicUrl: PUBLIC_URL,
  anonymous: "shared",
  handleSignals: true,
});
`;

const module = `
import { artifact, type ServeOptions } from "trivium";

export default {
  card: { name: "Harbour", description: "Repeats what you say", version: "1.0.0" },
  anonymous: "shared",
  async *agent({ text }) {
    yield artifact(text);
  },
} satisfies ServeOptions;
`;

async function lockedProject(): Promise<Project> {
  const project = await createProject();
  const { folder, write } = project;
  // As it is in a registry: the lock names the package without the folder that it was packed in.
  for (const file of ["package.json", "package-lock.json"]) {
    const text = readFileSync(join(folder, file), "utf8");
    await write(file, text.replaceAll(/file:[^"]*\.tgz/g, "file:/srv/trivium.tgz"));
  }
  return project;
}

describe.skipIf(!mayLayer)("the image of deploy/Dockerfile", () => {
  it("the image of deploy/Dockerfile is built by its steps, runs on a read-only file system, and answers", async () => {
    const { folder, write } = await lockedProject();
    await write("server.ts", agent);
    await write(".env", "SECRET=1");
    await write("tasks.db", "");
    const port = await fixedPort();
    const publicUrl = `http://127.0.0.1:${port}`;
    const container = await startImage(
      {
        dockerfile: readFileSync("deploy/Dockerfile", "utf8"),
        context: folder,
        ignored: readFileSync("deploy/dockerignore", "utf8"),
        files: { "/srv/trivium.tgz": inject("tarball") },
        env: { PORT: String(port), PUBLIC_URL: publicUrl },
      },
      'id -u; ls -A; command -v node npm npx corepack; touch server.ts /home/node/x 2>&1 | grep -c "Read-only"; touch /tmp/x && echo "$NODE_ENV"',
    );
    await using _ = { [Symbol.asyncDispose]: async () => void (await container.stop()) };
    const files = ["node_modules", "package-lock.json", "package.json", "server.ts"];
    expect(container.probed.trim().split("\n")).toEqual(["1000", ...files, "/usr/local/bin/node", "2", "production"]);
    for (const binding of ["JSONRPC", "HTTP+JSON", "GRPC"]) {
      await using client = await Client.connect(publicUrl, { prefer: [binding], grpcTls: false });
      expect((await client.send("hello")).text).toBe("hello");
      expect((await client.stream("again").answer).text).toBe("again");
      expect(client.connection?.binding).toBe(binding);
    }
    const { code, output } = await container.stop();
    // The signal has reached the program, which has ended by itself.
    expect(output).toContain('"signal":"SIGTERM","msg":"closing"');
    expect(code, output).toBe(0);
  });

  it("the image of deploy/Dockerfile serves the module of an agent with the lines that the guide has", async () => {
    const [block] = blocksOf("docs/guides/serve-from-the-command-line.md").filter(
      ({ language }) => language === "dockerfile",
    );
    const dockerfile = readFileSync("deploy/Dockerfile", "utf8").replace(/^CMD .*$/m, () => block?.code ?? "");
    const { folder, write } = await lockedProject();
    await write("agent.ts", module);
    const port = await fixedPort();
    const container = await startImage(
      {
        dockerfile,
        context: folder,
        ignored: readFileSync("deploy/dockerignore", "utf8"),
        files: { "/srv/trivium.tgz": inject("tarball") },
        env: { PORT: String(port) },
      },
      "true",
    );
    await using _ = { [Symbol.asyncDispose]: async () => void (await container.stop()) };
    await using client = await Client.connect(`http://127.0.0.1:${port}`);
    expect((await client.send("hello")).text).toBe("hello");
    const { code, output } = await container.stop();
    expect(output).toContain('"signal":"SIGTERM","msg":"closing"');
    expect(code, output).toBe(0);
  });
});
