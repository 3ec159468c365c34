import { maySendSecret } from "../../protocol/authorization/may-send-secret.js";
import { type Fetch, type FetchInit, readTextWithin } from "../../protocol/fetch.js";

/** Time limit of one request to an authorization server, in milliseconds. */
const timeoutMs = 10_000;
/** Largest document that is read from an authorization server. */
const maxBytes = 1 << 20;

interface LibraryRequest {
  readonly method?: string | undefined;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
}

/**
 * The `fetch` that the JOSE and OAuth libraries expect, over the framework's own: encrypted or within this machine,
 * without redirects, and with limits on time and size.
 */
export function libraryFetch(fetch: Fetch): (url: string | URL, request?: LibraryRequest) => Promise<Response> {
  return async (url, { method = "GET", headers, body } = {}) => {
    if (!maySendSecret(String(url), false)) throw new TypeError(`${url} is not https`);
    const form = body instanceof URLSearchParams || typeof body === "string" ? { body } : {};
    const init: FetchInit = { method, headers: Object.fromEntries(new Headers(headers)), redirect: "error", ...form };
    const answer = await fetch(String(url), { ...init, signal: AbortSignal.timeout(timeoutMs) });
    const content = answer.body === null ? "" : await readTextWithin(answer.body.getReader(), maxBytes, tooLarge);
    const type = answer.headers.get("content-type") ?? "application/octet-stream";
    return new Response(content, { status: answer.status, headers: { "Content-Type": type } });
  };
}

function tooLarge(): RangeError {
  return new RangeError(`the answer is over the limit of ${maxBytes} bytes`);
}
