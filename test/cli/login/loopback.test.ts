import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { signInByLoopback } from "../../../src/cli/login/loopback.js";

// The page to which a browser returns after signing in.

/** A sign-in that waits for its browser. */
async function waiting(signal = new AbortController().signal) {
  const shown = Promise.withResolvers<void>();
  let callback = "";
  const urlFor = (uri: string): string => {
    callback = uri;
    return "https://id.example/auth?state=right";
  };
  const called = signInByLoopback({ signal, urlFor }, async () => shown.resolve());
  await shown.promise;
  return { callback, called };
}

/** A connection without a request, as browsers open them ahead. */
async function spare(callback: string) {
  const socket = connect(Number(new URL(callback).port), "127.0.0.1").on("error", () => {});
  await once(socket, "connect");
  return socket;
}

it("the loopback server gives the address that was called back, once its page is sent", async () => {
  const { callback, called } = await waiting();
  const socket = await spare(callback);
  const page = await fetch(`${callback}?code=c&state=right`);
  expect([page.status, page.headers.get("referrer-policy"), page.headers.get("cache-control")]).toEqual([
    200,
    "no-referrer",
    "no-store",
  ]);
  expect(await page.text()).toContain("You are signed in.");
  expect(Object.fromEntries(new URL(await called).searchParams)).toEqual({ code: "c", state: "right" });
  await once(socket.resume(), "close");
  await expect(fetch(callback)).rejects.toThrow();
});

it("the loopback server keeps no connection either when the sign-in is given up", async () => {
  const leaving = new AbortController();
  const { callback, called } = await waiting(leaving.signal);
  const socket = await spare(callback);
  leaving.abort(new Error("enough"));
  await expect(called).rejects.toThrow("enough");
  await once(socket.resume(), "close");
});

it.each([
  ["GET", "/callback?code=c&state=wrong"],
  ["GET", "/callback?code=c"],
  ["GET", "/callback?code=c&state="],
  ["GET", "/?code=c&state=right"],
  ["POST", "/callback?code=c&state=right"],
  ["OPTIONS", "/callback?code=c&state=right"],
])("the loopback server answers %s %s, which another page may send, with 404, and waits on", async (method, path) => {
  const leaving = new AbortController();
  const { callback, called } = await waiting(leaving.signal);
  const answer = await fetch(new URL(path, callback), { method });
  expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([404, null]);
  leaving.abort(new Error("still waiting"));
  await expect(called).rejects.toThrow("still waiting");
});
