import { describe, expect, it } from "vitest";
import { addressPolicy, ForbiddenAddressError } from "../../../src/binding/fetch/address-policy.js";
import { createNodeFetch, type NodeFetch, type NodeFetchOptions } from "../../../src/binding/fetch/node-fetch.js";
import type { FetchInit } from "../../../src/protocol/fetch.js";
import { localTls } from "../../support/tls.js";
import { type HttpPeer, httpPeer } from "../http-peer.js";

const headers = {
  accept: "application/json",
  "a2a-version": "9",
  authorization: "Bearer secret",
  cookie: "a=secret",
  "x-api-key": "secret",
  "a2a-key": "secret",
  "last-event-id": "secret",
};

/** Two origins. The first redirects every request; `{other}` in the location stands for the second. */
async function origins(status: number, location: string, options: NodeFetchOptions = {}) {
  const other = await httpPeer((_, response) => response.end("other"));
  const first = await httpPeer((request, response) => {
    if (request.url === "/end") response.end("end");
    else response.writeHead(status, { Location: location.replace("{other}", other.url) }).end();
  });
  const fetch = createNodeFetch(options);
  return {
    first,
    other,
    fetch,
    async [Symbol.asyncDispose]() {
      await fetch.close();
      await first[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  };
}

const textOf = async (fetch: NodeFetch, { url }: HttpPeer, init?: FetchInit): Promise<string> => {
  const response = await fetch(`${url}/start?key=secret`, { headers, ...init });
  return response.ok ? response.text() : `status ${response.status}`;
};

describe("a redirect", () => {
  it.each([301, 302, 303, 307, 308])(
    "a redirect of a GET is followed (%i), within an origin with all headers",
    async (status) => {
      await using on = await origins(status, "/end");
      expect(await textOf(on.fetch, on.first)).toBe("end");
      expect(on.first.requests.map(({ line }) => line)).toEqual(["GET /start?key=secret", "GET /end"]);
      expect(on.first.requests[1]?.headers).toMatchObject(headers);
    },
  );

  it.each([301, 302, 303, 307, 308])(
    "a redirect of a GET to another origin (%i) takes no secret along",
    async (status) => {
      await using on = await origins(status, "{other}/there");
      expect(await textOf(on.fetch, on.first)).toBe("other");
      expect(on.other.requests).toMatchObject([
        { line: "GET /there", headers: { accept: "application/json", "a2a-version": "9" } },
      ]);
      expect(JSON.stringify(on.other.requests)).not.toContain("secret");
    },
  );

  it("a redirect of a POST is followed within its origin by 307 and 308, with its body", async () => {
    for (const status of [307, 308]) {
      await using on = await origins(status, "/end");
      expect(await textOf(on.fetch, on.first, { method: "POST", body: "{}" })).toBe("end");
      expect(on.first.requests[1]).toMatchObject({ line: "POST /end", body: "{}", headers });
    }
  });

  it.each([
    [307, "{other}/there"],
    [308, "{other}/there"],
    [301, "/end"],
    [302, "/end"],
    [303, "/end"],
  ])("a redirect of a POST by %i to %s is the answer", async (status, location) => {
    await using on = await origins(status, location);
    expect(await textOf(on.fetch, on.first, { method: "POST", body: "{}" })).toBe(`status ${status}`);
    expect([on.first.requests.length, on.other.requests.length]).toEqual([1, 0]);
  });

  it("a redirect is returned to a caller that asks for it", async () => {
    await using on = await origins(302, "/end");
    expect(await textOf(on.fetch, on.first, { redirect: "manual" })).toBe("status 302");
    await expect(textOf(on.fetch, on.first, { redirect: "error" })).rejects.toThrow(
      "a redirect, which is not followed here",
    );
    expect(on.first.requests).toHaveLength(2);
  });

  it.each([
    ["/again", "more than 5 redirects", 6],
    ["ftp://a.example/", "a redirect to an address that is not HTTP", 1],
    ["http://user:secret@a.example/", "a redirect to an address that is not HTTP", 1],
    ["http://[::1", "a redirect to an address that is not HTTP", 1],
  ])("a redirect to %s is refused: %s", async (location, what, calls) => {
    await using on = await origins(302, location);
    const failure = {
      code: "invalidAgentResponse",
      message: `the agent answered with ${what}`,
      metadata: { httpStatus: "302" },
    };
    await expect(textOf(on.fetch, on.first)).rejects.toMatchObject(failure);
    expect(on.first.requests).toHaveLength(calls);
  });

  it.each([["http://10.0.0.7/"], ["http://inside.example/"]])(
    "a redirect to %s has to pass the policy of addresses",
    async (location) => {
      const lookup = async (name: string) => [name === "localhost" ? "127.0.0.1" : "10.0.0.7"];
      await using on = await origins(302, location, { policy: addressPolicy("loopback", "test"), lookup });
      await expect(textOf(on.fetch, on.first)).rejects.toBeInstanceOf(ForbiddenAddressError);
    },
  );
});

describe("a redirect from TLS", () => {
  const { key, cert } = localTls;

  it("a redirect from TLS is not followed to plain text elsewhere, but on this machine", async () => {
    await using plain = await httpPeer((_, response) => response.end("plain"));
    const place = { location: "http://a.example/" };
    await using secure = await httpPeer((_, response) => response.writeHead(302, place).end(), { key, cert });
    const fetch = createNodeFetch({ tls: { ca: cert } });
    await expect(fetch(secure.url)).rejects.toThrow("a redirect from TLS to plain text at a.example");
    place.location = plain.url;
    expect(await (await fetch(secure.url)).text()).toBe("plain");
    await fetch.close();
  });

  it("a redirect from TLS shows the client's certificate only to the origin that was called", async () => {
    const shown: boolean[] = [];
    const asking = { key, cert, ca: cert, requestCert: true, rejectUnauthorized: false };
    const note = ({ socket }: { readonly socket: object }): void =>
      void shown.push("authorized" in socket && socket.authorized === true);
    await using other = await httpPeer((request, response) => {
      note(request);
      response.end("other");
    }, asking);
    await using first = await httpPeer((request, response) => {
      note(request);
      response.writeHead(302, { Location: other.url }).end();
    }, asking);
    const fetch = createNodeFetch({ tls: { ca: cert, key, cert } });
    expect(await (await fetch(first.url)).text()).toBe("other");
    expect(shown).toEqual([true, false]);
    await fetch.close();
  });
});
