import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A call that a webhook received. */
interface WebhookCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Its content in a word or two, as `labelOf` writes it. */
  readonly label: string;
}

/** The status to answer with, with headers if any. `undefined`: never answers. */
export type Answer = number | readonly [status: number, headers: Record<string, string>] | undefined;

export interface Receiver {
  readonly url: string;
  readonly port: number;
  readonly calls: readonly WebhookCall[];
  readonly labels: readonly string[];
  /** How the next calls are answered. */
  answer: (call: WebhookCall, count: number) => Answer | Promise<Answer>;
  /** Resolves when this many calls have arrived. */
  untilReceived(count: number): Promise<void>;
  /** The number of calls that their caller aborted before the answer. */
  readonly brokenOff: () => number;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A webhook on its own port. It accepts every call unless `answer` is changed. */
export async function webhook(port = 0): Promise<Receiver> {
  const calls: WebhookCall[] = [];
  const waiting = new Set<() => void>();
  let broken = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    const { method = "", url = "", headers } = request;
    const call = { method, path: url, headers, text, label: labelOf(text) };
    calls.push(call);
    response.on("close", () => {
      if (!response.writableFinished) broken += 1;
    });
    for (const check of waiting) check();
    const answer = await receiver.answer(call, calls.length);
    if (answer === undefined) return;
    const [status, replyHeaders] = typeof answer === "number" ? [answer, {}] : answer;
    response.writeHead(status, replyHeaders).end(status === 204 ? undefined : "thank you");
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const bound = (server.address() as AddressInfo).port;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${bound}/hook`,
    port: bound,
    calls,
    get labels() {
      return calls.map(({ label }) => label);
    },
    answer: () => 204,
    untilReceived: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (calls.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    brokenOff: () => broken,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

interface Body {
  readonly task?: { readonly status: { readonly state: string } };
  readonly statusUpdate?: { readonly status: { readonly state: string } };
  readonly artifactUpdate?: {
    readonly artifact: { readonly artifactId: string; readonly parts: readonly { readonly text?: string }[] };
    readonly append?: boolean;
    readonly lastChunk?: boolean;
  };
}

/** `WORKING`; `a=text`, `a+text` for an append, with `!` after the last chunk; `task WORKING`. */
function labelOf(text: string): string {
  const { task, statusUpdate, artifactUpdate }: Body = JSON.parse(text);
  if (task !== undefined) return `task ${stateOf(task)}`;
  if (statusUpdate !== undefined) return stateOf(statusUpdate);
  if (artifactUpdate === undefined) return text;
  const { artifact, append, lastChunk } = artifactUpdate;
  const content = artifact.parts.map((part) => part.text).join("|");
  return `${artifact.artifactId}${append === true ? "+" : "="}${content}${lastChunk === true ? "!" : ""}`;
}

function stateOf({ status }: { readonly status: { readonly state: string } }): string {
  return status.state.replace("TASK_STATE_", "");
}
