import type { Message as AnyMessage, DescMethod, DescMethodServerStreaming, DescMethodUnary } from "@bufbuild/protobuf";
import {
  Code,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { compressionGzip } from "@connectrpc/connect-node";
import type { GrpcAdapter } from "../../version/codec.js";
import { decodeOptions, groupByPath, type RpcMethod, type ServedPath } from "../grpc/method.js";
import { type HttpEndpoint, type HttpReply, type HttpRequest, plainReply } from "../http/http.js";
import { readMediaType, toPrintable } from "../http/media-type.js";
import { AccountedBody, accountReply } from "../http/reply-writer.js";
import type { BindingLimits, Service } from "../service.js";
import { type BodyForm, readBodyForm } from "./body-checks.js";
import { ConnectCall } from "./call.js";

// Connect and gRPC-Web, for browsers, over connect-es.

export interface ConnectEndpointOptions {
  readonly adapters: readonly GrpcAdapter[];
  readonly service: Service;
}

/** Serves Connect and gRPC-Web, binary and JSON, at `/<service>/<RPC>`. */
export function createConnectEndpoint({ adapters, service }: ConnectEndpointOptions): HttpEndpoint {
  const endpoints = new Map([...groupByPath(adapters)].map(([path, servedPath]) => [path, serve(servedPath, service)]));
  return (request) => {
    const endpoint = endpoints.get(request.path);
    if (endpoint === undefined || request.method !== "POST") return endpoint?.(request);
    const type = readMediaType(request.header("content-type"));
    return servedTypes.has(type) ? endpoint(request) : refuseType(type);
  };
}

const servedTypes: ReadonlySet<string> = new Set([
  ...["application/json", "application/proto", "application/connect+json", "application/connect+proto"],
  ...["application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json"],
]);

/** Lists the types that are served. gRPC-Web clients read that from `Grpc-Status` and `Grpc-Message`. */
function refuseType(type: string): HttpReply {
  const problem = type === "" ? "the request has no content type" : `unsupported content type ${toPrintable(type)}`;
  const text = `${problem} (accepted: ${[...servedTypes].join(", ")})`;
  const isGrpc = type.startsWith("application/grpc");
  return plainReply(415, text, isGrpc ? { "Grpc-Status": String(Code.Unimplemented), "Grpc-Message": text } : {});
}

const callKey = createContextKey<ConnectCall | undefined>(undefined);

function serve(path: ServedPath, service: Service): (request: HttpRequest) => Promise<HttpReply> {
  // Versions that share a service have the same wire messages.
  const [method] = path.methods;
  const handler = createHandler(method, service.limits);
  return async (request) => {
    const form = readBodyForm(request, service.limits);
    const call = new ConnectCall({ request, service, path, form });
    const leave = new AbortController();
    request.onLeave(() => leave.abort());
    const handle = () =>
      handler({
        httpVersion: "1.1",
        method: request.method,
        url: `http://localhost${request.path}${request.query === "" ? "" : `?${request.query}`}`,
        header: pickHeaders(request, form),
        body: call.body(),
        signal: leave.signal,
        contextValues: createContextValues().set(callKey, call),
      });
    const response = withStatus(await handle(), call);
    if (call.reached && method.operation.streams) return streamReply(response, call);
    // connect-es reports an undecodable body as an internal error. `handle()` again reports it as the caller's fault.
    const blamesUs = response.status === 500 || response.status === 200;
    return accountWhole(call, await readWhole(call.misread && blamesUs ? await handle() : response));
  };
}

/**
 * Replaces 503, which connect-es derives from the code, for a call whose work had begun. Streams and gRPC-Web have 200 with
 * the error in the body: otherwise their clients read no details.
 */
function withStatus(response: UniversalServerResponse, { failedStatus }: ConnectCall): UniversalServerResponse {
  return response.status === 503 ? { ...response, status: failedStatus ?? 503 } : response;
}

function createHandler({ descriptor }: RpcMethod, limits: BindingLimits): UniversalHandler {
  const findCall = ({ values }: HandlerContext): ConnectCall => {
    const call = values.get(callKey);
    if (call === undefined) throw new TypeError("a call without its request");
    return call;
  };
  const unary = (wire: AnyMessage, context: HandlerContext) => findCall(context).unary(wire, context);
  const stream = (wire: AnyMessage, context: HandlerContext) => findCall(context).stream(wire, context);
  const router = createConnectRouter({
    grpc: false,
    acceptCompression: [compressionGzip],
    readMaxBytes: Math.max(limits.contentMaxBytes, limits.jsonBodyMaxBytes),
    jsonOptions: decodeOptions,
    binaryOptions: decodeOptions,
    requestGate: (context) => findCall(context).admit(context.responseHeader),
  });
  if (isStream(descriptor)) router.rpc<DescMethodServerStreaming>(descriptor, stream);
  if (isUnary(descriptor)) router.rpc<DescMethodUnary>(descriptor, unary);
  const [handler] = router.handlers;
  if (handler === undefined) throw new TypeError(`${descriptor.name} is a kind of RPC that A2A does not have`);
  return handler;
}

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary";

const isStream = (method: DescMethod): method is DescMethodServerStreaming => method.methodKind === "server_streaming";

// The headers connect-es reads. The call reads all others from the request itself.
const protocolHeaders = [
  "content-type",
  "content-encoding",
  "accept-encoding",
  "connect-protocol-version",
  "connect-timeout-ms",
  "connect-content-encoding",
  "connect-accept-encoding",
  "grpc-timeout",
  "grpc-encoding",
  "grpc-accept-encoding",
];

function pickHeaders(request: HttpRequest, { isGzip, isEnveloped }: BodyForm): Headers {
  const headers = new Headers();
  for (const name of protocolHeaders) {
    const value = request.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  // The body is passed on decompressed.
  if (isGzip && !isEnveloped) headers.delete("content-encoding");
  return headers;
}

function streamReply({ status, header, body }: UniversalServerResponse, call: ConnectCall): HttpReply {
  return {
    status,
    headers: { ...Object.fromEntries(header ?? []), "cache-control": "no-store, no-transform" },
    body: body === undefined ? undefined : new AccountedBody(body, call),
  };
}

/** A reply that ends its call: at once, or when it is large and was taken. */
function accountWhole(call: ConnectCall, reply: HttpReply & { readonly body: Uint8Array }): HttpReply {
  let result: HttpReply = reply;
  try {
    result = accountReply(call, reply);
  } finally {
    if (result === reply) call.end();
  }
  return result;
}

async function readWhole({
  status,
  header,
  body,
}: UniversalServerResponse): Promise<HttpReply & { readonly body: Uint8Array }> {
  const { "content-length": _, ...headers } = Object.fromEntries(header ?? []);
  const pieces: Uint8Array[] = [];
  for await (const piece of body ?? []) pieces.push(piece);
  return { status, headers, body: Buffer.concat(pieces) };
}
