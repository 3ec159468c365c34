import { createServer } from "node:http";
import Koa, { type Middleware } from "koa";
import { expect, it } from "vitest";
import { A2AError } from "../../../src/protocol/errors.js";
import { koaMiddleware } from "../../../src/server/koa/koa-middleware.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { endpointOf, postJson, rawCall, serveHttp } from "../../support/http-agent.js";
import { maxBytes, measure } from "../../support/measure.js";

function koa(...middleware: readonly Middleware[]) {
  const app = new Koa();
  app.silent = true;
  for (const each of middleware) app.use(each);
  return serveHttp(createServer(app.callback()));
}

const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } };
const call = (method: string): object => ({ jsonrpc: "2.0", id: 1, method, params });

it("the Koa middleware serves below its path and leaves the rest to the app", async () => {
  const service = serviceOf({ sendMessage: async (request) => echo(request) });
  await using served = await koa(koaMiddleware(endpointOf(service), { basePath: "/a2a" }), (ctx) => {
    ctx.body = `app ${ctx.path}`;
  });
  const { status, headers, text } = await postJson(`${served.url}/a2a/json-rpc`, call("SendMessage"));
  expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
  expect(JSON.parse(text)).toMatchObject({ id: 1, result: { message: {} } });
  expect((await postJson(`${served.url}/a2a/http-json/nope`, {})).status).toBe(404);
  expect((await rawCall(`${served.url}/a2ab`, { method: "GET" })).text).toBe("app /a2ab");
  expect((await rawCall(`${served.url}/a2a`, { method: "GET" })).text).toBe("app /a2a");
});

it("the Koa middleware keeps an endpoint's own status and type, also without a body", async () => {
  await using served = await koa(
    koaMiddleware(({ path }) => {
      if (path === "/304") return { status: 304, headers: { ETag: '"x"' }, body: undefined };
      if (path === "/bytes")
        return { status: 201, headers: { "Content-Type": "image/x" }, body: new Uint8Array([104, 105]) };
      return { status: 204, headers: { Allow: "GET" }, body: undefined };
    }),
  );
  const get = (path: string) => rawCall(served.url + path, { method: "GET" });
  expect(await get("/304")).toMatchObject({ status: 304, headers: { etag: '"x"' }, text: "" });
  expect(await get("/bytes")).toMatchObject({ status: 201, headers: { "content-type": "image/x" }, text: "hi" });
  expect(await get("/")).toMatchObject({ status: 204, headers: { allow: "GET" }, text: "" });
});

it("the Koa middleware streams events as they arrive, and aborts the operation when the peer disconnects", async () => {
  const left = Promise.withResolvers<void>();
  const service = serviceOf({
    async *sendStreamingMessage(_, { signal }) {
      yield statusItem(1);
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      left.resolve();
    },
  });
  await using served = await koa(koaMiddleware(endpointOf(service)));
  const controller = new AbortController();
  const response = await fetch(`${served.url}/json-rpc`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(call("SendStreamingMessage")),
    signal: controller.signal,
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const first = await response.body?.getReader().read();
  expect(new TextDecoder().decode(first?.value)).toMatch(/^id: 1\ndata: .*\n\n$/);
  controller.abort();
  await left.promise;
});

it("the Koa middleware reports errors in the binding's form", async () => {
  const authenticate = (): never => {
    throw new A2AError("unauthenticated", "who are you");
  };
  await using served = await koa(koaMiddleware(endpointOf(serviceOf({}, { authenticate }))));
  const reply = await rawCall(`${served.url}/http-json/tasks`, { method: "GET" });
  expect(reply).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
  expect(JSON.parse(reply.text)).toMatchObject({ error: { code: 401 } });
});

/** A body parser that reads everything and keeps what `keep` returns. */
function parser(keep: (text: string) => object): Middleware {
  return async (ctx, next) => {
    let text = "";
    for await (const piece of ctx.req) text += piece;
    Object.assign(ctx.request, keep(text));
    await next();
  };
}

it.each([
  { what: "the text", keep: (text: string) => ({ rawBody: text, body: {} }), size: 13 },
  { what: "the object", keep: (text: string) => ({ body: JSON.parse(text) }), size: 9 },
])("the Koa middleware makes do with a body parser that kept $what", async ({ keep, size }) => {
  await using served = await koa(parser(keep), koaMiddleware(measure));
  expect((await rawCall(served.url, { body: '{ "a" : "é" }'.replace("é", "e") })).text).toBe(String(size));
});

it("the Koa middleware keeps its limit after a body parser without one", async () => {
  await using served = await koa(
    parser((rawBody) => ({ rawBody })),
    koaMiddleware(measure),
  );
  expect((await rawCall(served.url, { body: "x".repeat(maxBytes + 1) })).status).toBe(413);
});

it("the Koa middleware names the remedy after a body parser that kept nothing", async () => {
  await using served = await koa(
    parser(() => ({})),
    koaMiddleware(measure),
  );
  expect((await rawCall(served.url, { body: "x" })).text).toContain("mount the agent before the body parser");
});
