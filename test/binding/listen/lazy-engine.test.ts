import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defaultListenerLimits, type RequestListener } from "../../../src/binding/listen/connection.js";
import { createHttp2Engine, type Http2Engine } from "../../../src/binding/listen/http2-engine.js";
import { createLazyEngine } from "../../../src/binding/listen/lazy-engine.js";
import { createListener, type Listener } from "../../../src/binding/listen/listener.js";

const http: RequestListener = (request, response) => {
  response.end(`you asked for ${request.url}`);
};

describe("an engine that is loaded with its first connection", () => {
  let listener: Listener;
  let session: ClientHttp2Session;
  let engineCount: number;
  let errors: unknown[];
  let loading: PromiseWithResolvers<void>;
  let demand: PromiseWithResolvers<void>;

  beforeEach(async () => {
    engineCount = 0;
    errors = [];
    loading = Promise.withResolvers();
    demand = Promise.withResolvers();
    const make = async (): Promise<Http2Engine> => {
      engineCount++;
      demand.resolve();
      await loading.promise;
      return createHttp2Engine(http, defaultListenerLimits);
    };
    const http2 = createLazyEngine(make, (error) => errors.push(error));
    listener = await createListener({ host: "127.0.0.1", port: 0, http, http2 });
  });
  afterEach(async () => {
    session?.destroy();
    loading.resolve();
    await listener.close();
  });

  const open = (): ClientHttp2Session => {
    session = connect(`http://127.0.0.1:${listener.port}`);
    session.on("error", () => {});
    return session;
  };
  const get = (path: string): Promise<string> => text(session.request({ ":path": path }));

  it("an engine loaded with its first connection answers what came before, and is loaded once", async () => {
    open();
    const answers = Promise.all([get("/one"), get("/two")]);
    await demand.promise;
    loading.resolve();
    expect(await answers).toEqual(["you asked for /one", "you asked for /two"]);
    expect(await get("/three")).toBe("you asked for /three");
    expect(engineCount).toBe(1);
  });

  it("an engine that cannot be loaded closes the connection, and is tried again with the next", async () => {
    const closed = once(open(), "close");
    await demand.promise;
    loading.reject(new Error("no such package"));
    await closed;
    expect(errors).toEqual([new Error("no such package")]);
    loading = Promise.withResolvers();
    loading.resolve();
    open();
    expect(await get("/")).toBe("you asked for /");
    expect(engineCount).toBe(2);
  });

  it("an engine that is being loaded answers a connection that waited while the port was retired", async () => {
    open();
    const answer = get("/last");
    await demand.promise;
    void listener.retire(0);
    loading.resolve();
    expect(await answer).toBe("you asked for /last");
    const closed = once(session, "close");
    void listener.retire(0);
    await closed;
  });

  it("an engine that is being loaded closes with its port", async () => {
    const closed = once(open(), "close");
    await demand.promise;
    await listener.close();
    await closed;
    loading.resolve();
    expect(errors).toEqual([]);
  });
});
