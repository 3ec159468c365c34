import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { startTrivium } from "../support/command.js";
import { identityProvider } from "../support/identity-provider.js";
import { pageOf, sending, weather } from "../support/sign-in.js";
import { hasChromium, startChromium } from "./chromium.js";

it.skipIf(!hasChromium)("a person signs in on the page that the command prints", async () => {
  await using provider = await identityProvider();
  await using agent = await weather(provider.origin);
  await using browser = await startChromium();
  const env = { TRIVIUM_LOGINS: join(await mkdtemp(join(tmpdir(), "login-")), "logins.json") };
  const child = startTrivium([...sending(agent.url, provider), "--no-browser"], env);
  const output = text(child.stdout);
  const page = await browser.newPage();
  await page.goto((await pageOf(child)).href);
  await page.fill("[name=login]", "bob");
  await page.fill("[name=password]", "anything");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("You are signed in.").waitFor();
  expect(await output).toBe(`Hello ${provider.origin}#bob with read\n`);
});
