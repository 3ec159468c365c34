import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import Koa from "koa";
import { createAgent, reply, type ServeOptions, serve } from "trivium";
import { apiKey } from "trivium/auth";
import { describe, expect, it } from "vitest";

// `Expect: 100-continue`: a caller asks whether its body is wanted before it sends it (RFC 9110, 10.1.1).

const card = { name: "Gate", description: "Answers", version: "1.0.0" };
const keys = apiKey({ in: "header", name: "X-Key", verify: (key) => key === "right" && "ann" });
const options = { card, agent: async () => reply("done"), auth: { schemes: { keys } } };

const start = (more: Partial<ServeOptions> = {}) => serve({ ...options, port: 0, ...more });

const body = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "SendMessage",
  params: { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] } },
});

/** Sends headers that keep the body back, and returns the connection with the first piece of the answer. */
async function ask(port: number, key: string, { path = "/json-rpc", length = body.length } = {}) {
  const socket = connect(port, "127.0.0.1");
  const head = [
    `POST ${path} HTTP/1.1`,
    ...["Host: localhost", "Content-Type: application/json", "A2A-Version: 1.0", `X-Key: ${key}`],
    ...["Expect: 100-continue", `Content-Length: ${length}`],
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const [piece] = (await once(socket, "data")) as [Buffer];
  return { socket, first: piece.toString() };
}

async function rest(socket: Socket): Promise<string> {
  const [piece] = (await once(socket, "data")) as [Buffer];
  socket.destroy();
  return piece.toString();
}

describe("a request over HTTP/1.1 that keeps its body back", () => {
  it.each([body.length, 1_000_000])(
    "a caller that keeps its body back hears 401 and nothing before it, with a body of %i bytes",
    async (length) => {
      await using server = await start();
      const { socket, first } = await ask(server.port, "wrong", { length });
      expect(first).toMatch(/^HTTP\/1\.1 401 .*\r\nConnection: close\r\n/s);
      socket.destroy();
    },
  );

  it("a caller that keeps its body back is asked for it once the caller is known", async () => {
    await using server = await start();
    const { socket, first } = await ask(server.port, "right");
    expect(first).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write(body);
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 .*done/s);
  });

  it("a caller that keeps its body back is not asked for one over the limit", async () => {
    await using server = await start({ limits: { jsonBodyMaxBytes: 1000 } });
    const { socket, first } = await ask(server.port, "right", { length: 1001 });
    expect(first).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it("a caller that sends its body without waiting hears the refusal too", async () => {
    await using server = await start();
    const { socket, first } = await ask(server.port, "wrong");
    socket.write(body);
    await once(socket, "end");
    expect(first).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  it("a caller that keeps its body back is asked for what the app of the server reads", async () => {
    const app = new Koa().use(async (ctx) => {
      let text = "";
      for await (const piece of ctx.req) text += String(piece);
      ctx.body = `read ${text.length}`;
    });
    await using server = await start({ app });
    const { socket, first } = await ask(server.port, "wrong", { path: "/form" });
    expect(first).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write(body);
    expect(await rest(socket)).toContain(`read ${body.length}`);
  });
});

describe("where the program made the server", () => {
  it("Node asks for the body once where the program made the server", async () => {
    const agent = await createAgent(options);
    const server = createServer(agent.nodeListener()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { socket, first } = await ask((server.address() as AddressInfo).port, "right");
    expect(first).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write(body);
    expect(await rest(socket)).toMatch(/^HTTP\/1\.1 200 /);
    server.close();
    await agent.close();
  });
});

describe.each([{ bindings: ["JSONRPC"] }, {}] as const)("over HTTP/2, served with %j", (more) => {
  it.each(["wrong", "right"])(
    "a caller over HTTP/2 with the %s key is asked for its body only if the key is known",
    async (key) => {
      await using server = await start(more);
      const session = connectHttp2(server.url);
      const stream = session.request({
        ...{ ":method": "POST", ":path": "/json-rpc", "content-type": "application/json", "a2a-version": "1.0" },
        ...{ "x-key": key, expect: "100-continue" },
      });
      const statuses: string[] = [];
      stream.on("continue", () => {
        statuses.push("100");
        stream.end(body);
      });
      const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
      expect([...statuses, headers[":status"]]).toEqual(key === "right" ? ["100", 200] : [401]);
      session.destroy();
    },
  );
});
