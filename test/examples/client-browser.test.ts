import { afterEach, expect, it } from "vitest";
import { hasChromium, startChromium } from "../browser/chromium.js";
import { type RunningExample, startExample } from "../support/example.js";

let running: RunningExample | undefined;

afterEach(async () => {
  await running?.stop();
});

it("the example client-browser serves a page and the client that it loads", async () => {
  running = await startExample("client-browser");
  const page = await (await fetch(running.url)).text();
  const agent = /data-agent="(.+?)"/.exec(page)?.[1];
  const card = await (await fetch(`${agent}/.well-known/agent-card.json`)).json();
  expect(card).toMatchObject({ name: "Pilot" });
  const load = async (name: string): Promise<string> => (await fetch(`${running?.url}/${name}`)).text();
  const code = await load("page.js");
  const [, shared = ""] = /from"\.\/(.+?)"/.exec(code) ?? [];
  expect(shared).not.toBe("");
  expect((await load(shared)).length).toBeGreaterThan(10_000);
  expect(code).not.toContain("trivium/client");
});

it.skipIf(!hasChromium)("the example client-browser shows artifacts as they grow", async () => {
  running = await startExample("client-browser");
  const browser = await startChromium();
  try {
    const page = await browser.newPage();
    await page.goto(running.url);
    await page.waitForFunction("document.querySelector('output').textContent === 'Pilot is there'");
    await page.fill("input", "Husum");
    await page.click("button");
    await page.waitForFunction("/^Husum is/.test(document.querySelector('p')?.textContent)");
    await page.waitForFunction("document.querySelector('output').textContent.startsWith('done')");
    expect(await page.textContent("output")).toBe("done, over JSONRPC");
    expect(await page.locator("section").allInnerTexts()).toEqual([
      "Approach\n\nHusum is reached from the north-west.",
      "Berths\n\nBerths along the outer quay, water at all tides.",
    ]);
  } finally {
    await browser.close();
  }
});
