import { create } from "@bufbuild/protobuf";
import { A2AError } from "../../protocol/errors.js";
import { findOperation } from "../../protocol/operations.js";
import type { JsonRpcAdapter } from "../../version/codec.js";
import { listVersions } from "../../version/detect.js";
import { callUnary, errorHeaders, readHead, replyHeaders } from "../http/call.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../http/http.js";
import { jsonMediaType } from "../http/media-type.js";
import { handlerFor, ServerCall } from "../server-call.js";
import type { JsonRpcOptions } from "./server.js";

const operation = findOperation("getExtendedAgentCard");
const headers: Readonly<Record<string, string>> = {
  "Content-Type": jsonMediaType,
  "Cache-Control": "no-store, no-transform",
};

/** The extended card for versions that read it by GET beside JSON-RPC. Errors are reported by the status alone. */
export function extendedCardEndpoint({ adapters, service }: JsonRpcOptions): HttpEndpoint {
  const adapterByPath = new Map(
    adapters.flatMap((adapter) =>
      adapter.extendedCardPath === undefined ? [] : [[adapter.extendedCardPath, adapter] as const],
    ),
  );
  const versions = listVersions(adapters);
  const readCard = async (request: HttpRequest, adapter: JsonRpcAdapter): Promise<HttpReply> => {
    const call = new ServerCall(service, readHead("JSONRPC", request));
    call.target = { adapter, operation, handler: handlerFor(adapter, service) };
    try {
      if (request.method !== "GET") throw new A2AError("methodNotAllowed", "the extended card is read by GET");
      await call.authenticate();
      call.declare(versions);
      call.admit();
      const message = create(operation.input);
      const card = await callUnary(call, request, message);
      const body = JSON.stringify(adapter.codec(operation).writeReply(card, message));
      call.countReply(body);
      return { status: 200, headers: replyHeaders(headers, adapter, call), body };
    } catch (cause) {
      const error = call.publicError(cause);
      const body = JSON.stringify({ error: error.message });
      call.countReply(body);
      return {
        status: chooseStatus(call, error),
        headers: replyHeaders({ ...headers, ...errorHeaders(error) }, adapter, call),
        body,
      };
    } finally {
      call.end();
    }
  };
  return (request) => {
    const adapter = adapterByPath.get(request.path);
    return adapter === undefined ? undefined : readCard(request, adapter);
  };
}

/** Maps an error to an HTTP status. An agent without an extended card answers 404. */
function chooseStatus(call: ServerCall, error: A2AError): number {
  const isMissing = error.code === "extendedAgentCardNotConfigured" || error.code === "unsupportedOperation";
  return isMissing ? 404 : call.chooseHttpStatus(error);
}
