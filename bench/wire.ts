import { answerText } from "./corpus.ts";

/** The parts of the wire's JSON that the rows look at. */
export interface TaskJson {
  readonly id?: string;
  readonly contextId?: string;
  readonly status?: { readonly state?: string };
  readonly artifacts?: readonly ArtifactJson[];
}
export interface ArtifactJson {
  readonly parts?: readonly { readonly text?: string }[];
}
export interface MessageJson {
  readonly role?: string;
  readonly parts?: readonly { readonly text?: string }[];
}
/** The answer to a send, and an event of a stream. */
export interface PayloadJson {
  readonly message?: MessageJson;
  readonly task?: TaskJson;
  readonly artifactUpdate?: { readonly artifact?: ArtifactJson };
  readonly statusUpdate?: { readonly status?: { readonly state?: string } };
}
export interface EnvelopeJson<T> {
  readonly id?: number;
  readonly result?: T;
  readonly error?: { readonly message?: string };
}

export interface HttpCall {
  readonly path: string;
  readonly contentType: string;
  body(n: number): string;
  /** Further headers of call `n`, each on a line that ends in CRLF. Default: none. */
  headers?(n: number): string;
}

/** A JSON-RPC call of `method` whose id is the number of the call. */
export function jsonRpcCall(method: string, params: (n: number) => unknown): HttpCall {
  return {
    path: "/json-rpc",
    contentType: "application/json",
    body: (n) => JSON.stringify({ jsonrpc: "2.0", id: n, method, params: params(n) }),
  };
}

/** An HTTP+JSON call of `POST /http-json/VERB`. */
export function httpJsonCall(verb: string, params: (n: number) => unknown): HttpCall {
  return {
    path: `/http-json/${verb}`,
    contentType: "application/a2a+json",
    body: (n) => JSON.stringify(params(n)),
  };
}

/** The parameters of a send of this text. */
export function sendParams(text: string, n: number, configuration?: object): object {
  const message = { messageId: `m-${n}`, role: "ROLE_USER", parts: [{ text }] };
  return configuration ? { message, configuration } : { message };
}

/** The result in a JSON-RPC answer to call `n`; throws on an error and on another call's answer. */
export function jsonRpcResult<T>(body: string, n: number): T {
  const { id, result, error }: EnvelopeJson<T> = JSON.parse(body);
  if (result === undefined) throw new Error(`error instead of a result: ${error?.message ?? body}`);
  if (id !== n) throw new Error(`answer to call ${id} instead of ${n}`);
  return result;
}

/** Throws unless this is the reply of the script `message`. */
export function assertReply({ message }: PayloadJson): void {
  if (message?.role !== "ROLE_AGENT" || message.parts?.[0]?.text !== answerText) throw new Error("not the reply");
}

/** Throws unless this is the finished task of the script `task`. */
export function assertTask({ task }: PayloadJson): void {
  if (!task?.id || task.status?.state !== "TASK_STATE_COMPLETED") throw new Error("no completed task");
  if (task.artifacts?.length !== 1 || textOf(task.artifacts[0]) !== answerText) throw new Error("not the artifact");
}

/** The text parts of an artifact, joined. */
export function textOf(artifact: ArtifactJson | undefined): string {
  return (artifact?.parts ?? []).map(({ text }) => text ?? "").join("");
}
