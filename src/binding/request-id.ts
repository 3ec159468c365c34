import { newId } from "../protocol/id/new-id.js";

/** The header, and the gRPC metadata, with the id of a request. */
export const requestIdParameter = "x-request-id";
/** The same, as it is written in a reply over HTTP. */
export const requestIdHeader = "X-Request-Id";

/** Ids of callers get into logs and headers: only what is safe there is accepted. */
const safeId = /^[\w.:+/=~-]{1,128}$/;

/** The id that a caller gives its request if it is safe, else a new one. */
export function chooseRequestId(id: string | undefined): string {
  return id !== undefined && safeId.test(id) ? id : newId();
}
