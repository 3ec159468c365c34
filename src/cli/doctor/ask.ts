import { request } from "node:http";
import { request as requestTls } from "node:https";
import type { ClientTls } from "../../binding/fetch/client-tls.js";

export interface AskOptions {
  readonly method: "GET" | "HEAD";
  readonly timeoutMs: number;
  readonly tls?: ClientTls | undefined;
}

export interface PlainAnswer {
  readonly status: number;
  readonly date: string | undefined;
  readonly body: string;
}

const bodyMaxLength = 10_000;

/** Asks a server without credentials. Another check verifies its certificate. */
export function ask(url: string, { method, timeoutMs, tls }: AskOptions): Promise<PlainAnswer> {
  const options = { method, agent: false, signal: AbortSignal.timeout(timeoutMs) } as const;
  return new Promise((resolve, reject) => {
    const sent = url.startsWith("https:")
      ? requestTls(url, { ...options, ...tls, rejectUnauthorized: false })
      : request(url, options);
    sent.once("response", (response) => {
      let body = "";
      const { statusCode = 0, headers } = response;
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
        if (body.length > bodyMaxLength) response.destroy();
      });
      response.once("error", reject);
      response.once("close", () => resolve({ status: statusCode, date: headers.date, body }));
    });
    sent.once("error", reject);
    sent.end();
  });
}
