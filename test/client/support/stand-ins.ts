import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import type { Service } from "../../../src/binding/service.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { connectAgent } from "../../support/connect-agent.js";
import { serviceOf } from "../../support/echo-service.js";
import { httpAnswers } from "../../support/fault-answers.js";
import { createFaultProxy } from "../../support/fault-proxy.js";
import type { HttpAnswer, Rule } from "../../support/fault-schedule.js";
import { grpcAgent } from "../../support/grpc-agent.js";
import { httpAgent } from "../../support/http-agent.js";
import { localTls } from "../../support/tls.js";
import type { BindingName } from "./cards.js";

/** A server at the address of an interface. */
export interface StandIn extends AsyncDisposable {
  readonly origin: string;
  /** The number of connections accepted. */
  readonly connections: number;
}

const answer = (reply: HttpAnswer): Rule => ({ kind: "answer", answer: reply });

/** Servers that pass no call to an agent. */
export const rules = {
  "refuses connections": { kind: "refuse" },
  "closes the socket": { kind: "close" },
  "resets the socket": { kind: "reset" },
  hangs: { kind: "hang" },
  "answers 404": answer(httpAnswers.notFound),
  "answers 405": answer(httpAnswers.methodNotAllowed),
  "answers 415": answer(httpAnswers.unsupportedMediaType),
  "answers 501": answer(httpAnswers.notImplemented),
  "answers 502": answer({ status: 502 }),
  "answers 503": answer({ status: 503, headers: { "retry-after": "3" } }),
  "answers with an error page": answer(httpAnswers.errorPage),
  "answers with a page": answer(httpAnswers.page),
  "answers 401": answer({ status: 401, headers: { "www-authenticate": 'Bearer realm="port"' } }),
  "answers 403": answer({ status: 403 }),
  "answers 429": answer(httpAnswers.tooManyRequests),
} as const satisfies Record<string, Rule>;

/** A server that treats every connection by one rule. */
export async function ruled(rule: Rule): Promise<StandIn> {
  const proxy = await createFaultProxy({ target: { port: 9 }, schedule: [rule] });
  return {
    origin: proxy.url(),
    get connections() {
      return proxy.connections;
    },
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  };
}

/** A server with an unsigned certificate. */
export async function untrusted(): Promise<StandIn> {
  const server = createServer(localTls);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://localhost:${port}`,
    connections: 0,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

const starters: Readonly<
  Record<BindingName, (service: Service) => Promise<AsyncDisposable & { readonly port: number }>>
> = { JSONRPC: httpAgent, "HTTP+JSON": httpAgent, GRPC: grpcAgent, CONNECT: connectAgent };

/** An agent of another protocol version. */
export async function ofAnotherVersion(binding: BindingName): Promise<StandIn> {
  const agent = await starters[binding](
    serviceOf(
      {},
      {
        authenticate() {
          throw new A2AError("versionNotSupported", "A2A version 1.0 is not served here");
        },
      },
    ),
  );
  return {
    origin: `http://127.0.0.1:${agent.port}`,
    connections: 0,
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  };
}
