import type { RequestListener } from "./connection.js";

// A request with `Expect: 100-continue` keeps its body back until the server asks for it (RFC 9110, 10.1.1). The server
// asks when it reads the body, so a caller that is refused by its headers sends none.

type Request = Parameters<RequestListener>[0];
type Response = Parameters<RequestListener>[1];

const responses = new WeakMap<Request, Response>();

/** The listener for `checkContinue`, an event that keeps Node from asking for the body itself. */
export function onCheckContinue(http: RequestListener): RequestListener {
  return (request, response) => {
    responses.set(request, response);
    http(request, response);
  };
}

/** Whether a request still keeps its body back. */
export function awaitsContinue(request: Request): boolean {
  return request.headers.expect !== undefined && responses.has(request);
}

/** Asks for the body of a request that keeps it back. */
export function sendContinue(request: Request): void {
  if (!awaitsContinue(request)) return;
  responses.get(request)?.writeContinue();
  responses.delete(request);
}
