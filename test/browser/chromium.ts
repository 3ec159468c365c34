import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const path = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";

/** Whether there is a browser to test with. CI has to have one. */
export const hasChromium = existsSync(path);

if (!hasChromium) {
  const line = `no Chromium at ${path}: the tests in a browser are skipped (CHROMIUM_PATH names another one)`;
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
}

/** Starts the browser, without a window. */
export function startChromium(): Promise<Browser> {
  // As root, and in containers, Chromium has no sandbox.
  return chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
