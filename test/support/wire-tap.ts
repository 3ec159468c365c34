import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, constants, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";

/** The header that identifies a call. */
export const callHeader = "x-tapped-call";

/** A relay in front of a server. It records every answer that was sent to its end. */
export interface WireTap extends AsyncDisposable {
  readonly port: number;
  /** The answers to a call so far: status, headers and trailers of each, and its body unless that is binary. */
  take(call: string): readonly string[];
}

/** Relays HTTP/1.1 to a port of this machine. */
export async function tapHttp(port: number): Promise<WireTap> {
  const answers = recordAnswers();
  const server = createServer((incoming, reply) => {
    const { method, url: path, headers } = incoming;
    const onward = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false }, (answer) => {
      const { statusCode = 0, headers: answerHeaders } = answer;
      let body = "";
      reply.writeHead(statusCode, answerHeaders);
      answer.on("data", (piece: Buffer) => {
        body += piece.toString("latin1");
        reply.write(piece);
      });
      answer.on("end", () => {
        answers.add(headers, textOf(statusCode, answerHeaders, body));
        reply.end();
      });
      answer.on("error", () => reply.destroy());
    });
    onward.on("error", () => reply.destroy());
    reply.on("close", () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    take: answers.take,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Relays HTTP/2, with trailers, to a port of this machine. */
export async function tapHttp2(port: number): Promise<WireTap> {
  const answers = recordAnswers();
  const session = connect(`http://127.0.0.1:${port}`).on("error", () => {});
  const server = createHttp2Server();
  server.on("stream", (incoming, headers) => {
    const onward = session.request(headers, { endStream: false });
    let answerHeaders: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    let body = "";
    onward.on("response", (receivedHeaders, flags) => {
      answerHeaders = receivedHeaders;
      const endsStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      incoming.respond(receivedHeaders, endsStream ? { endStream: true } : { waitForTrailers: true });
    });
    onward.on("trailers", (receivedHeaders) => {
      trailers = receivedHeaders;
    });
    onward.on("data", (piece: Buffer) => {
      body += piece.toString("latin1");
      incoming.write(piece);
    });
    onward.on("end", () => {
      answers.add(headers, textOf(Number(answerHeaders[":status"]), { ...answerHeaders, ...trailers }, body));
      incoming.end();
    });
    incoming.on("wantTrailers", () => incoming.sendTrailers(trailers));
    incoming.on("close", () => onward.close());
    for (const stream of [incoming, onward]) stream.on("error", () => {});
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    take: answers.take,
    async [Symbol.asyncDispose]() {
      session.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function recordAnswers() {
  const answers: { readonly call: unknown; readonly text: string }[] = [];
  return {
    add: (headers: IncomingHttpHeaders, text: string) => void answers.push({ call: headers[callHeader], text }),
    take: (call: string) => answers.filter((each) => each.call === call).map(({ text }) => text),
  };
}

// Binary bodies show times and numbers in more or fewer bytes.
function textOf(status: number, headers: IncomingHttpHeaders, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [status, ...lines, /proto|grpc/.test(headers["content-type"] ?? "") ? "" : body].join("\n");
}
