import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  withA2AExtensions,
} from "sdk-0.3/client";
import { GrpcTransportFactory } from "sdk-0.3/client/grpc";

const transports = {
  JSONRPC: JsonRpcTransportFactory,
  "HTTP+JSON": RestTransportFactory,
  GRPC: GrpcTransportFactory,
};

/** The agents as SDK 0.3 reaches them over one binding. */
export function createPeer({ url, plain, guarded, binding }) {
  const factory = new ClientFactory({ transports: [new transports[binding]()] });
  const connect = async (at, change) => {
    const card = await new DefaultAgentCardResolver().resolve(at);
    change?.(card);
    return clientOf(await factory.createFromAgentCard(card));
  };
  const overProto = binding !== "JSONRPC";
  return {
    binding,
    card: () => new DefaultAgentCardResolver().resolve(url),
    full: once(() => connect(url)),
    plain: once(() => connect(plain)),
    guarded: once(() => connect(guarded)),
    believing: (change) => connect(plain, change),
    /** What its writers and readers of the binary and the HTTP+JSON form lose; over gRPC it cannot write a null. */
    drops: { append: overProto, partMetadata: overProto, fileName: overProto, null: binding === "GRPC" },
    errorKind: (error) => errorKind(binding, error),
  };
}

function clientOf(client) {
  return {
    card: (as) => client.getAgentCard(options(as)),
    send: (params, as) => client.sendMessage(params, options(as)),
    stream: (params, as) => client.sendMessageStream(params, options(as)),
    get: (params, as) => client.getTask(params, options(as)),
    cancel: (params, as) => client.cancelTask(params, options(as)),
    resubscribe: (params, as) => client.resubscribeTask(params, options(as)),
    setPush: (params) => client.setTaskPushNotificationConfig(params),
    getPush: (params) => client.getTaskPushNotificationConfig(params),
    listPush: (params) => client.listTaskPushNotificationConfig(params),
    deletePush: (params) => client.deleteTaskPushNotificationConfig(params),
  };
}

function options({ owner, extensions = [], headers = {} } = {}) {
  const serviceParameters = owner === undefined ? { ...headers } : { Authorization: owner };
  if (extensions.length > 0) withA2AExtensions(...extensions)(serviceParameters);
  return { serviceParameters };
}

const codes = { "-32602": "InvalidParams", "-31401": "Refused" };
const statuses = { 3: "InvalidParams", 12: "UnsupportedOperation", 16: "Refused" };

/** The class of the SDK without its `Error`; where it has none, what the number says. */
function errorKind(binding, error) {
  // An error within a stream is wrapped.
  const seen =
    error.cause?.name?.endsWith("Error") && error.name === "Error" && binding !== "GRPC" ? error.cause : error;
  if (seen.name !== "Error") return seen.name.replace(/Error$/, "");
  if (binding === "GRPC") return statuses[seen.cause?.code];
  const code = seen.errorResponse?.error.code ?? /\(Code: (-?\d+)\)/.exec(seen.message)?.[1];
  return codes[code] ?? (/\b401\b/.test(seen.message) ? "Refused" : undefined);
}

function once(make) {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}
