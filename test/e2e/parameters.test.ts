import { completed, reply } from "trivium";
import { describe, expect, it } from "vitest";
import { frame, rawSession } from "../support/grpc-raw.js";
import { postJson, rawCall } from "../support/http-agent.js";
import { errorOf, messageOf, requestOf, say, textIn } from "../support/say.js";
import { overEach, overEveryWire, startAgent } from "../support/serve-agent.js";
import { errorOverWire, wiresOf, wiresThat } from "../support/wires.js";

// The two service parameters: the protocol version of the caller and the extensions it activates.

const agent = async ({ extensions }: { readonly extensions: readonly string[] }) =>
  reply(extensions.join(" ") || "none");
const version = (value: string) => ({ headers: { "A2A-Version": value } });
const uri = "urn:example:extension:v1";
const other = "urn:example:other:v2";

function cardWith(extensions: readonly { readonly uri: string; readonly required?: boolean }[]) {
  return { name: "Extended", description: "Knows extensions", version: "1", extensions };
}

overEach(wiresOf("1.0"), (start) => {
  // Requirements: V1-VER-3, V1-VER-7
  it.each(["1.0", "1.0.1", "1.0.99"])("version %s is served: a patch number means nothing", async (value) => {
    await using served = await start({ agent });
    expect(textIn(messageOf(await served.client.sendMessage(say("x"), version(value))).parts)).toBe("none");
  });

  // Requirements: V1-SP-6, V1-SP-7, V1-VER-4
  it.each(["2.0", "1.1", "0.5", "1", "one", "v1.0"])(
    "version %s is refused, and the error lists the served versions",
    async (value) => {
      let turns = 0;
      await using served = await start({
        async agent() {
          turns++;
          return completed();
        },
      });
      const errors = [
        await errorOf(served.client.sendMessage(say("x"), version(value))),
        await errorOf(served.client.sendStreamingMessage(say("x"), version(value))),
        await errorOf(served.client.listTasks(requestOf("listTasks"), version(value))),
      ];
      for (const error of errors) {
        const supported = expect.stringMatching(/^1\.0,0\.3/);
        expect(error).toMatchObject({ code: "versionNotSupported", metadata: { requested: value, supported } });
      }
      expect(turns).toBe(0);
    },
  );
});

overEach(
  wiresOf("1.0").filter((wire) => wire !== "in-process"),
  (start) => {
    // Requirements: V1-VER-5
    it("a call without a version is served, and refused by a strict server", async () => {
      await using lenient = await start({ agent });
      expect(textIn(messageOf(await lenient.client.sendMessage(say("x"), version(""))).parts)).toBe("none");
      await using strict = await start({ agent, versions: { strict: true } });
      expect(await errorOf(strict.client.sendMessage(say("x"), version("")))).toMatchObject({
        code: "versionNotSupported",
      });
      expect(textIn(messageOf(await strict.client.sendMessage(say("x"), {})).parts)).toBe("none");
    });
  },
);

overEach(wiresOf("0.3"), (start) => {
  // Requirements: IOP-10
  it.each(["0.3", "0.3.0", "0.3.9", ""])("version %j is served in the form of 0.3, strictly too", async (value) => {
    await using served = await start({ agent, versions: { strict: true } });
    expect(textIn(messageOf(await served.client.sendMessage(say("x"), version(value))).parts)).toBe("none");
  });

  it.each(["0.5", "2.0", "one"])("version %s is refused, and the agent is not asked", async (value) => {
    let turns = 0;
    await using served = await start({
      async agent() {
        turns++;
        return completed();
      },
    });
    const error = await errorOf(served.client.sendMessage(say("x"), version(value)));
    expect(error).toMatchObject(
      errorOverWire(served.wire, { code: "versionNotSupported", metadata: { requested: value } }),
    );
    expect(error.message).toContain(value);
    expect(turns).toBe(0);
  });
});

overEach(wiresThat("activate extensions"), (start) => {
  // Requirements: V1-EXT-3, V1-EXT-5, V1-EXT-7, V03-EXT-1, V03-EXT-2
  it("an extension is active only for a call that requests it, and unknown ones are ignored", async () => {
    await using served = await start({ agent, card: cardWith([{ uri }, { uri: other }]) });
    const answer = async (extensions: readonly string[]): Promise<string> =>
      textIn(messageOf(await served.client.sendMessage(say("x"), { extensions })).parts);
    expect(await answer([])).toBe("none");
    expect(await answer([uri])).toBe(uri);
    expect(await answer([other, "urn:nobody:knows", "urn:example:extension:v2", uri, other])).toBe(`${other} ${uri}`);
    expect(await answer([])).toBe("none");
  });
});

overEveryWire((start) => {
  // Requirements: V1-CAP-2, V1-EXT-4, V1-EXT-5, V03-EXT-3
  it("a required extension that is not activated is refused by its name, before the agent starts", async () => {
    let turns = 0;
    await using served = await start({
      card: cardWith([{ uri, required: true }, { uri: other }]),
      async agent() {
        turns++;
        return completed();
      },
    });
    for (const extensions of [[], [other], ["urn:example:extension:v2"]]) {
      const error = await errorOf(served.client.sendMessage(say("x"), { extensions }));
      expect(error).toMatchObject(errorOverWire(served.wire, { code: "extensionSupportRequired", metadata: { uri } }));
      expect(error.message).toContain(uri);
    }
    expect(turns).toBe(0);
    await served.client.sendMessage(say("x"), { extensions: [uri] });
    expect(turns).toBe(1);
  });
});

const request = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] } };
const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: request };

describe("on the wire", () => {
  // Requirements: V1-SP-1, V1-SP-2, V1-SP-3, V1-SP-8
  it.each([
    ["JSONRPC", "/json-rpc", rpc],
    ["HTTP+JSON", "/http-json/message:send", request],
  ] as const)(
    "a call over %s takes the version from the query, the header before it, whatever case their names have",
    async (wire, path, body) => {
      await using served = await startAgent(wire, { agent });
      const post = async (query: string, headers = {}): Promise<string> =>
        (await postJson(`${served.server.url}${path}${query}`, body, headers)).text;
      expect(await post("?A2A-Version=1.0")).toContain("none");
      expect(await post("?a2a-version=9.9")).toContain("unsupported A2A version 9.9");
      expect(await post("?A2A-Version=9.9", { "a2a-VERSION": "1.0" })).toContain("none");
      expect(await post("?A2A-Version=1.0", { "A2A-Version": "9.9" })).toContain("unsupported A2A version 9.9");
    },
  );

  // Requirements: V1-SP-1, V1-SP-5, V1-SP-8, V1-EXT-6
  it.each([
    ["JSONRPC", "/json-rpc", rpc],
    ["HTTP+JSON", "/http-json/message:send", request],
  ] as const)("a response over %s names the activated extensions", async (wire, path, body) => {
    await using served = await startAgent(wire, { agent, card: cardWith([{ uri }, { uri: other }]) });
    const post = (headers = {}) => postJson(served.server.url + path, body, headers);
    const { headers } = await post({ "a2a-extensions": `urn:none, ${other},${uri}` });
    expect(headers["a2a-extensions"]).toBe(`${other},${uri}`);
    expect((await post()).headers["a2a-extensions"]).toBeUndefined();
    expect((await post({ "A2A-Extensions": uri.toUpperCase() })).headers["a2a-extensions"]).toBeUndefined();
  });

  // Requirements: V1-SP-4, V1-SP-5, V1-SP-6, V1-EXT-6
  it("gRPC returns the activated extensions in its metadata", async () => {
    await using served = await startAgent("GRPC", { agent, card: cardWith([{ uri }, { uri: other }]) });
    using session = rawSession(served.server.port);
    const list = (headers = {}) => session.call("ListTasks", frame(new Uint8Array(0)), headers);
    expect((await list({ "a2a-extensions": `${uri},urn:none` })).headers["a2a-extensions"]).toBe(uri);
    expect((await list()).headers["a2a-extensions"]).toBeUndefined();
  });

  // Requirements: V1-EXT-6
  it("an event stream returns the activated extensions too", async () => {
    await using served = await startAgent("HTTP+JSON", { agent, card: cardWith([{ uri }]) });
    const { headers, text } = await rawCall(`${served.server.url}/http-json/message:stream`, {
      headers: { "content-type": "application/json", "a2a-extensions": uri },
      body: JSON.stringify(request),
    });
    expect(headers["content-type"]).toBe("text/event-stream");
    expect(headers["a2a-extensions"]).toBe(uri);
    expect(text).toContain(uri);
  });
});
