import type { Browser, Page } from "playwright-core";
import { A2AError, type Agent, artifact, reply, type Server, serve } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bindingNames } from "../../src/protocol/bindings.js";
import { hasChromium, startChromium } from "./chromium.js";
import { type Relay, startRelay } from "./relay.js";
import type { Scenario } from "./scenarios.js";
import { type Site, startSite } from "./site.js";

let site: Site;
let relay: Relay;
let server: Server;
let browser: Browser;
let page: Page;
let broken = 0;
let goOn = Promise.withResolvers<void>();

const agent: Agent = async function* ({ text, signal, principal }) {
  if (text === "refuse") throw new A2AError("unsupportedOperation", "not this");
  if (text === "who") return yield reply(principal.owner);
  const [, count = "0", at] = /^count (\d+)(?:, wait at (\d+))?$/.exec(text) ?? [];
  if (count === "0") return yield artifact(text.toUpperCase());
  signal.addEventListener("abort", () => goOn.resolve());
  for (let number = 1; number <= Number(count); number++) {
    yield artifact(String(number), { artifactId: `n-${number}` });
    if (number === Number(at)) await goOn.promise;
  }
};

beforeAll(async () => {
  if (!hasChromium) return;
  site = await startSite(async () => {
    broken += relay.break();
    goOn.resolve();
  });
  server = await serve({
    card: { name: "Counter", description: "Counts, shouts and refuses", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    bindings: bindingNames,
    cors: { origins: [site.origin] },
    authenticate({ header }) {
      if (header("authorization") === undefined) return { owner: header("x-api-key") ?? "anybody" };
      throw new A2AError("unauthenticated", "a token is needed", { challenge: 'Bearer realm="counter"' });
    },
    agent,
  });
  relay = await startRelay(Number(new URL(server.url).port));
  browser = await startChromium();
  page = await browser.newPage();
});

afterAll(async () => {
  goOn.resolve();
  await browser?.close();
  await relay?.[Symbol.asyncDispose]();
  await server?.close();
  await site?.[Symbol.asyncDispose]();
});

/** Runs a scenario in the page of the site, loaded anew, which calls the agent on another origin. */
async function run(place: string, scenario: Scenario): Promise<unknown> {
  goOn = Promise.withResolvers();
  await page.goto(site.origin);
  await page.waitForFunction("globalThis.inPage !== undefined");
  const target = { agent: relay.url, ask: `${site.origin}/ask/` };
  return page.evaluate(`${place}(${JSON.stringify(scenario)}, ${JSON.stringify(target)})`);
}

const numbers = (count: number): string => Array.from({ length: count }, (_, index) => index + 1).join(" ");

describe.skipIf(!hasChromium).each(["inPage", "inWorker"])("the client of a browser, %s", (place) => {
  it.each([
    ["jsonRpc", "JSONRPC"],
    ["httpJson", "HTTP+JSON"],
    ["connect", "CONNECT"],
    ["grpcWeb", "GRPC"],
  ] as const)(
    "the client of a browser reads the card of another origin, sends and streams: %s",
    async (scenario, binding) => {
      expect(await run(place, scenario)).toEqual({ card: "Counter", binding, text: "SHOUT", streamed: numbers(5) });
    },
  );

  it("the client of a browser loads what speaks Connect and gRPC-Web when it is needed", async () => {
    const onDemand = site.filesWith("src/binding/connect/client.ts");
    expect(onDemand).toHaveLength(1);
    const before = site.loaded.length;
    await run(place, "jsonRpc");
    const atOnce = site.loaded.slice(before);
    expect(atOnce).toContain("/page.js");
    expect(atOnce).not.toContain(onDemand[0]);
    await run(place, "connect");
    expect(site.loaded.slice(before)).toContain(onDemand[0]);
  });

  it("the client of a browser gets every event once when the connection breaks in the middle", async () => {
    broken = 0;
    expect(await run(place, "resume")).toEqual({ texts: numbers(40), recovered: [] });
    expect(broken).toBeGreaterThan(0);
  });

  it("the client of a browser puts a stream together", async () => {
    expect(await run(place, "putTogether")).toEqual({ count: 5, isSameText: true, state: "completed" });
  });

  it("the client of a browser distinguishes errors by code, and reads the challenge", async () => {
    expect(await run(place, "errors")).toEqual({
      unknownTask: { code: "taskNotFound" },
      agent: { code: "unsupportedOperation" },
      admission: { code: "unauthenticated", challenge: 'Bearer realm="counter"' },
      nobodyThere: { code: "unavailable" },
    });
  });

  it("the client of a browser may send an API key and extensions", async () => {
    expect(await run(place, "headers")).toBe("key-7");
  });

  it("the client of a browser frees the connection of a stream that it leaves", async () => {
    const left = relay.streamLeft();
    expect(await run(place, "leave")).toBe("left");
    await left;
  });
});
