import { connect as connectH2, createServer as createH2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { HttpEndpoint } from "../../../src/binding/http/http.js";
import { nodeListener } from "../../../src/binding/http/node-listener.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { endpointOf } from "../../support/http-agent.js";
import { measure } from "../../support/measure.js";

describe("over HTTP/2", () => {
  async function h2(endpoint: HttpEndpoint) {
    const server = createH2Server(nodeListener(endpoint));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const session = connectH2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const call = (
      headers: Record<string, string>,
      body?: string | Uint8Array,
    ): Promise<{ status: unknown; text: string }> =>
      new Promise((resolve, reject) => {
        const stream = session.request(headers);
        let status: unknown;
        let text = "";
        stream.on("response", (head) => {
          status = head[":status"];
        });
        stream.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        stream.on("error", reject).on("end", () => resolve({ status, text }));
        stream.end(body);
      });
    const close = async (): Promise<void> => {
      session.destroy();
      await new Promise((resolve) => server.close(resolve));
    };
    return { call, session, [Symbol.asyncDispose]: close };
  }

  const head = { ":method": "POST", ":path": "/json-rpc", "content-type": "application/json" };
  const rpc = (method: string): string =>
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } },
    });

  it("calls and streams work over HTTP/2 as over HTTP/1.1", async () => {
    const sendStreamingMessage = async function* () {
      yield statusItem(1);
    };
    await using served = await h2(endpointOf(serviceOf({ sendMessage: async (r) => echo(r), sendStreamingMessage })));
    expect(await served.call(head, rpc("SendMessage"))).toMatchObject({
      status: 200,
      text: expect.stringContaining("hi"),
    });
    const stream = await served.call(head, rpc("SendStreamingMessage"));
    expect(stream).toMatchObject({ status: 200, text: expect.stringMatching(/^id: 1\ndata: .*\n\n$/) });
  });

  it("a body over the limit is answered over HTTP/2, and the next call too", async () => {
    await using served = await h2(measure);
    const big = await served.call({ ":method": "POST", ":path": "/" }, new Uint8Array(200_000));
    expect(big).toEqual({ status: 413, text: "contentTooLarge" });
    expect(await served.call({ ":method": "POST", ":path": "/" }, "abc")).toEqual({ status: 200, text: "3" });
    expect(await served.call({ ":method": "GET", ":path": "/" })).toEqual({ status: 200, text: "0" });
  });

  it("an HTTP/2 peer that resets its stream ends the subscription", async () => {
    const left = Promise.withResolvers<void>();
    await using served = await h2(
      endpointOf(
        serviceOf({
          async *sendStreamingMessage(_, { signal }) {
            yield statusItem(1);
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            left.resolve();
          },
        }),
      ),
    );
    const stream = served.session.request(head);
    stream.end(rpc("SendStreamingMessage"));
    await new Promise((resolve) => stream.once("data", resolve));
    stream.close(8);
    await left.promise;
  });
});
