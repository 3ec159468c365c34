import { AsyncLocalStorage } from "node:async_hooks";
import { A2AClient } from "sdk-0.2/client";

// The SDK takes the global `fetch` and no headers: what a call wants beside its body is put in here.
const headersOfCall = new AsyncLocalStorage();
const plainFetch = globalThis.fetch;
globalThis.fetch = (url, init) =>
  plainFetch(url, { ...init, headers: { ...init?.headers, ...headersOfCall.getStore() } });

/** The agents as SDK 0.2 reaches them; it speaks JSON-RPC alone. */
export function createPeer({ url, plain, guarded, binding }) {
  const full = new A2AClient(url);
  const bare = new A2AClient(plain);
  const demanding = new A2AClient(guarded);
  return {
    binding,
    card: () => full.getAgentCard(),
    full: async () => clientOf(full),
    plain: async () => clientOf(bare),
    guarded: async () => clientOf(demanding),
    drops: {},
    errorKind,
  };
}

function clientOf(client) {
  const unary = (call) => async (params, as) => resultOf(await headersOfCall.run(headers(as), () => call(params)));
  const streaming = (call) =>
    async function* (params, as) {
      const events = call(params);
      for (;;) {
        const { done, value } = await headersOfCall.run(headers(as), () => events.next());
        if (done) return;
        yield value;
      }
    };
  return {
    send: unary((params) => client.sendMessage(params)),
    stream: streaming((params) => client.sendMessageStream(params)),
    get: unary((params) => client.getTask(params)),
    cancel: unary((params) => client.cancelTask(params)),
    resubscribe: streaming((params) => client.resubscribeTask(params)),
    setPush: unary((params) => client.setTaskPushNotificationConfig(params)),
    getPush: unary((params) => client.getTaskPushNotificationConfig(params)),
  };
}

function headers({ owner, extensions = [], headers: more } = {}) {
  return {
    ...more,
    ...(owner === undefined ? {} : { Authorization: owner }),
    ...(extensions.length === 0 ? {} : { "X-A2A-Extensions": extensions.join(", ") }),
  };
}

function resultOf(answer) {
  if ("error" in answer) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
  return answer.result;
}

const kinds = {
  "-32001": "TaskNotFound",
  "-32002": "TaskNotCancelable",
  "-32003": "PushNotificationNotSupported",
  "-32004": "UnsupportedOperation",
  "-32005": "ContentTypeNotSupported",
  "-32602": "InvalidParams",
};

/** What the number says: the SDK has no classes, and tells the number of an error within a stream in words only. */
function errorKind(error) {
  const code = error.code ?? /\(Code: (-?\d+)\)/.exec(error.message)?.[1];
  // It reads the body of a refusal twice, which fails: whatever is no JSON-RPC answer ends like that.
  return kinds[code] ?? (/\b401\b|already been read/.test(error.message) ? "Refused" : undefined);
}
