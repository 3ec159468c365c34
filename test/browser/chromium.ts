import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const path = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium";

/** Whether a browser is installed. In CI it must be. */
export const hasChromium = existsSync(path);

if (!hasChromium) {
  const line = `no Chromium at ${path}: the tests in a browser are skipped (CHROMIUM_PATH names another one)`;
  if (process.env["CI"] === "true") throw new Error(line);
  process.stderr.write(`${line}\n`);
}

/** Starts the browser headless. */
export function startChromium(): Promise<Browser> {
  // Chromium's sandbox does not work as root and in containers.
  return chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}
