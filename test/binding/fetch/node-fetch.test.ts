import type { Socket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { addressPolicy, clientPolicy, ForbiddenAddressError } from "../../../src/binding/fetch/address-policy.js";
import { createNodeFetch, type NodeFetchOptions } from "../../../src/binding/fetch/node-fetch.js";
import { ConnectionError } from "../../../src/protocol/errors.js";
import { localTls } from "../../support/tls.js";
import { bareServer } from "../bare-server.js";
import { badCertificates, httpPeer } from "../http-peer.js";

const post = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
const trusted = { ca: localTls.cert };

/** Returns the error of a POST. */
async function failureOf(url: string, options: NodeFetchOptions = {}): Promise<unknown> {
  const fetch = createNodeFetch(options);
  try {
    return await fetch(url, post).then(
      ({ status }) => status,
      (error: unknown) => error,
    );
  } finally {
    await fetch.close();
  }
}

function expectUnwritten(failure: unknown, code: unknown): void {
  expect(failure).toBeInstanceOf(ConnectionError);
  expect(failure).toMatchObject({ code: "unavailable", written: false, cause: expect.objectContaining({ code }) });
}

describe("a request that was not sent is distinguished from one that was", () => {
  it.each([
    ["http://127.0.0.1:2/rpc?key=secret", "nobody listens", "ECONNREFUSED"],
    ["http://nowhere.invalid/", "nobody has the name", "ENOTFOUND"],
  ])("a request is reported as not sent at %s, where %s", async (url, _, code) => {
    const failure = await failureOf(url);
    expectUnwritten(failure, code);
    expect(String(failure)).not.toContain("secret");
  });

  it("a request is reported as not sent at a server that does not go on, when its time is over", async () => {
    await using server = await bareServer(() => {});
    const failure = await failureOf(`https://localhost:${server.port}`, { connectTimeoutMs: 60 });
    expectUnwritten(failure, "UND_ERR_CONNECT_TIMEOUT");
    await expect.poll(server.open).toBe(0);
  });

  const { key, cert } = localTls;
  const { expired, otherHost } = badCertificates;
  // Requirements: V03-TRANS-7
  it.each([
    ["of an unknown authority", { key, cert }, {}, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    ["that is out of date", { key, cert: expired }, { ca: expired }, "CERT_HAS_EXPIRED"],
    ["of another host", { key, cert: otherHost }, { ca: otherHost }, "ERR_TLS_CERT_ALTNAME_INVALID"],
  ])("a request is reported as not sent at a server with a certificate %s", async (_, server, tls, code) => {
    await using peer = await httpPeer((_, response) => response.end(), server);
    expectUnwritten(await failureOf(peer.url, { tls }), code);
    expect(peer.requests).toEqual([]);
    await expect.poll(peer.open).toBe(0);
  });

  it.each([
    ["without TLS", (socket: Socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"), /^ERR_SSL_/],
    ["that closes at once", (socket: Socket) => void socket.destroy(), /^ECONNRESET$/],
  ])("a request over TLS is reported as not sent at a server %s", async (_, answer, code) => {
    await using server = await bareServer(answer);
    expectUnwritten(await failureOf(`https://localhost:${server.port}`), expect.stringMatching(code));
  });

  it("a request is reported as not sent when a server wants a certificate and gets none", async () => {
    const asking = { key, cert, ca: cert, requestCert: true, rejectUnauthorized: true };
    await using peer = await httpPeer((_, response) => response.end("welcome"), asking);
    expect(await failureOf(peer.url, { tls: trusted })).toBeInstanceOf(ConnectionError);
    expect(peer.requests).toEqual([]);
    expect(await failureOf(peer.url, { tls: { ...trusted, key, cert } })).toBe(200);
  });

  it("a request is reported as sent when the connection breaks before an answer, in the second call", async () => {
    await using peer = await httpPeer((request, response) => {
      if (peer.requests.length === 2) request.socket.destroy();
      else response.end("ok");
    });
    const fetch = createNodeFetch();
    expect(await (await fetch(peer.url, post)).text()).toBe("ok");
    await expect(fetch(peer.url, post)).rejects.toMatchObject({
      written: true,
      message: expect.stringMatching(/^cannot reach http:\/\/localhost:\d+\/: ./),
    });
    await fetch.close();
  });

  it("a request is reported as not sent when the client has closed", async () => {
    const fetch = createNodeFetch();
    await fetch.close();
    await expect(fetch("http://127.0.0.1:2/", post)).rejects.toMatchObject({ written: false });
  });
});

describe("the policy of addresses", () => {
  const policy = clientPolicy({ cardHost: "agents.example" });

  it.each([
    ["http://127.0.0.1:2/", ["193.0.6.139"]],
    ["http://[::1]:2/", ["193.0.6.139"]],
    ["http://0x7f.1:2/", ["193.0.6.139"]],
    ["http://localhost:2/", ["193.0.6.139"]],
    ["http://agent.example:2/", ["10.0.0.7"]],
    ["https://agent.example:2/", ["193.0.6.139", "::ffff:192.168.0.7"]],
  ])("the policy of addresses does not connect to %s at %j, and names no resolved address", async (url, addresses) => {
    const failure = await failureOf(url, { policy, lookup: async () => addresses });
    expect(failure).toBeInstanceOf(ForbiddenAddressError);
    const { hostname } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, "");
    const message = `${host} may not be called, only addresses of the internet (allowPrivate)`;
    expect(failure).toMatchObject({ written: false, message });
  });

  it("the policy of addresses checks a name for each connection, and connects to the checked address", async () => {
    await using peer = await httpPeer((_, response) => response.write("begun"));
    const answers = [["127.0.0.1"], ["10.0.0.7"]];
    const lookup = async () => answers.shift() ?? [];
    const fetch = createNodeFetch({ policy: addressPolicy("loopback", "test"), lookup });
    const url = `http://a.example:${peer.port}/`;
    const { status } = await fetch(url);
    expect([status, peer.requests[0]?.headers.host]).toEqual([200, `a.example:${peer.port}`]);
    // The connection is in use, so the next call needs another.
    await expect(fetch(url)).rejects.toBeInstanceOf(ForbiddenAddressError);
    expect([peer.accepted(), answers]).toEqual([1, []]);
    await fetch.close();
  });

  it("the policy of addresses tries the addresses that it allows one after another", async () => {
    await using peer = await httpPeer((_, response) => response.end());
    const lookup = async () => ["::1", "127.0.0.1"];
    const options = { policy: addressPolicy("loopback", "test"), lookup };
    expect(await failureOf(`http://a.example:${peer.port}/`, options)).toBe(200);
  });
});

describe("closing", () => {
  it("closing the client closes idle connections and aborts requests in flight", async () => {
    await using peer = await httpPeer((request, response) => {
      response.writeHead(200).write("first");
      if (request.url === "/whole") response.end();
    });
    const fetch = createNodeFetch();
    const stream = await fetch(`${peer.url}/endless`);
    await (await fetch(`${peer.url}/whole`)).text();
    expect(peer.open()).toBe(2);
    await fetch.close();
    await expect(stream.text()).rejects.toThrow();
    await expect.poll(peer.open).toBe(0);
  });

  it("closing the client ends attempts to connect", async () => {
    await using server = await bareServer(() => {});
    const fetch = createNodeFetch();
    const calls = Array.from({ length: 20 }, () => fetch(`https://localhost:${server.port}/`));
    const failures = Promise.allSettled(calls);
    await expect.poll(server.open).toBe(20);
    await fetch.close();
    expect(new Set((await failures).map(({ status }) => status))).toEqual(new Set(["rejected"]));
    await expect.poll(server.open).toBe(0);
  });

  it("a call that its caller gives up ends with the caller's reason and frees its socket", async () => {
    await using server = await bareServer(() => {});
    const controller = new AbortController();
    const fetch = createNodeFetch();
    const call = fetch(`http://localhost:${server.port}/`, { ...post, signal: controller.signal });
    await expect.poll(server.open).toBe(1);
    controller.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    await expect.poll(server.open).toBe(0);
    await fetch.close();
  });
});

it("the client opens no new connection for an aborted request", async () => {
  await using peer = await httpPeer((_, response) => response.write("begun"));
  const fetch = createNodeFetch();
  for (let count = 1; count <= 3; count++) {
    await (await fetch(peer.url, post)).body?.cancel();
    await expect.poll(peer.open).toBe(0);
    expect(peer.accepted()).toBe(count);
  }
  await fetch.close();
});

it("the client sends forms and bytes, and reads compressed bodies", async () => {
  const json = Buffer.from(JSON.stringify({ text: "x".repeat(1000) }));
  const encodings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
  await using peer = await httpPeer((request, response) => {
    const name = request.url?.slice(1) as keyof typeof encodings;
    response.writeHead(200, { "content-encoding": name }).end(encodings[name](json));
  });
  const fetch = createNodeFetch();
  for (const name of Object.keys(encodings)) {
    const answer = await fetch(`${peer.url}/${name}`, { method: "POST", body: new URLSearchParams({ a: "b c" }) });
    expect(JSON.parse(await answer.text()).text).toHaveLength(1000);
    await (await fetch(`${peer.url}/${name}`, { method: "POST", body: new Uint8Array([65]) })).body?.cancel();
  }
  expect(peer.requests.map(({ body }) => body).slice(0, 2)).toEqual(["a=b+c", "A"]);
  expect(peer.requests[0]?.headers["content-type"]).toContain("application/x-www-form-urlencoded");
  await fetch.close();
});

it("the client leaves a body as it is whose encoding is unknown, or is one too many", async () => {
  const encodings = ["constructor", Array(4).fill("gzip").join(",")];
  await using peer = await httpPeer((request, response) => {
    response.writeHead(200, { "content-encoding": encodings[Number(request.url?.slice(1))] ?? "" }).end("plain");
  });
  const fetch = createNodeFetch();
  for (const place of encodings.keys()) expect(await (await fetch(`${peer.url}/${place}`)).text()).toBe("plain");
  await fetch.close();
});
