import { chmod, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { triviumAlone } from "../support/command.js";
import { type RunningExample, runExample, startExample } from "../support/example.js";

const running: RunningExample[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop("SIGKILL");
});

describe("the examples of authentication", () => {
  it("the example auth-jwt lets the bearer of a good token in, and says what is wrong with others", async () => {
    expect((await runExample("auth-jwt")).split("\n")).toEqual([
      "Good morning, ada of north.",
      'unauthenticated: the agent refused the call, and no credentials meet what its card asks for: "user" needs a string for HTTP Bearer',
      "unauthenticated: the token has expired",
      "permissionDenied: missing scopes: weather:write",
      "Good morning, ada of north.",
      "",
    ]);
  });

  it("the example auth-oauth serves a service with its secret, and a person who signs in", async () => {
    const agent = await startExample("auth-oauth", { TRIVIUM_LOG: "silent" });
    running.push(agent);
    await expect.poll(() => agent.printed).toMatch(/--trust \S+\n/);
    const issuer = /provider listens at (\S+)\n/.exec(agent.printed)?.[1] ?? "";
    expect(await runExample("auth-oauth", [agent.url, issuer])).toBe(
      "Hello harbour-office, you may weather:read.\nHello harbour-office, you may weather:read,weather:write.\n",
    );
    const [, command = ""] = /npx trivium (.*)\n/.exec(agent.printed) ?? [];
    const args = command.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', "")) ?? [];
    const folder = await mkdtemp(join(tmpdir(), "oauth-"));
    const browser = join(folder, "browser");
    const user = fileURLToPath(new URL("../support/user-agent.mjs", import.meta.url));
    await writeFile(browser, `#!/bin/sh\nexec '${process.execPath}' '${user}' "$1"\n`);
    await chmod(browser, 0o755);
    const run = await triviumAlone(args, { env: { BROWSER: browser, TRIVIUM_LOGINS: join(folder, "logins.json") } });
    expect(run).toMatchObject({ code: 0, stdout: "Hello alice, you may weather:read.\n" });
  });

  it("the example mtls knows a service by its certificate over two bindings, and nothing without one", async () => {
    expect((await runExample("mtls")).split("\n")).toEqual([
      "Rain in Emden, spiffe://example/travel.",
      "Rain in Emden, spiffe://example/travel.",
      "unauthenticated: authentication is required: service",
      "no connection: ConnectionError",
      "",
    ]);
  });
});
