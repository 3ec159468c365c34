import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { Credential, CredentialSource } from "../auth/credentials.js";
import type { Transport } from "../binding/transport.js";
import type { CallOptions } from "../protocol/context.js";
import { dynamic } from "../protocol/dynamic.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import { invokeStream, invokeUnary, type Operation, type StreamItem } from "../protocol/operations.js";
import type { InterfaceName } from "./connection.js";

/** A stream whose first event has come: whoever got that far has reached the agent. */
export interface OpenStream {
  readonly first: IteratorResult<StreamItem, unknown>;
  readonly rest: AsyncIterator<StreamItem, unknown>;
}

/** One try of a call. */
export interface Attempt {
  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage>;
  /** `left` aborts when nobody wants the stream any more. */
  open(operation: Operation, request: AnyMessage, options: CallOptions, left: AbortSignal): Promise<OpenStream>;
}

export interface InterfaceClientOptions {
  readonly name: InterfaceName;
  /** Fills in the tenant of requests that name none. */
  readonly tenant: string;
  readonly connect: () => Transport | Promise<Transport>;
  readonly credentials: CredentialSource | undefined;
  /** Whether a secret may be sent there. */
  readonly mayCarry: boolean;
  /** Extensions to activate for streams. */
  readonly streamExtensions: readonly string[];
}

/** Calls one interface of an agent, with its tenant and with credentials. A challenge is answered once. */
export class InterfaceClient implements Attempt {
  readonly name: InterfaceName;
  readonly #options: InterfaceClientOptions;
  #transport: Promise<Transport> | undefined;

  constructor(options: InterfaceClientOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
    const transport = await this.#connected();
    const addressed = this.#addressed(request);
    return this.#allowed(options, (granted) => invokeUnary(transport, operation, addressed, granted));
  }

  async open(operation: Operation, request: AnyMessage, options: CallOptions, left: AbortSignal): Promise<OpenStream> {
    const transport = await this.#connected();
    const addressed = this.#addressed(request);
    return this.#allowed(options, (granted) =>
      openStream(invokeStream(transport, operation, addressed, granted), left),
    );
  }

  async close(): Promise<void> {
    const transport = await this.#transport?.catch(() => undefined);
    await transport?.close?.();
  }

  async #connected(): Promise<Transport> {
    this.#transport ??= Promise.resolve().then(this.#options.connect);
    try {
      return await this.#transport;
    } catch (cause) {
      this.#transport = undefined;
      if (cause instanceof A2AError) throw cause;
      throw new ConnectionError(`cannot reach ${this.name.url}`, { cause, written: false });
    }
  }

  #addressed(request: AnyMessage): AnyMessage {
    const { tenant } = this.#options;
    if (tenant === "" || dynamic(request)["tenant"] !== "") return request;
    return { ...request, tenant } as typeof request;
  }

  async #allowed<T>(options: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const { credentials } = this.#options;
    if (credentials === undefined) return call(options);
    const credential = await credentials.get(options.signal);
    this.#checkPlace(credential);
    try {
      return await call(granted(options, credential));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const better = await credentials.renew(credential, error, options.signal);
      if (better === undefined) throw error;
      this.#checkPlace(better);
      return call(granted(options, better));
    }
  }

  #checkPlace(credential: Credential | undefined): void {
    if (credential === undefined || this.#options.mayCarry) return;
    const reason = "credentials are not sent in plain text to another machine (allowPlaintext)";
    throw new ConnectionError(`${this.name.url} is not called: ${reason}`, { written: false });
  }
}

function isRefusal(error: unknown): error is A2AError {
  return error instanceof A2AError && (error.code === "unauthenticated" || error.code === "permissionDenied");
}

// What the caller says stands above what the card asks for.
function granted(options: CallOptions, credential: Credential | undefined): CallOptions {
  if (credential === undefined) return options;
  return {
    ...options,
    headers: { ...credential.headers, ...options.headers },
    query: { ...credential.query, ...options.query },
  };
}

async function openStream(items: AsyncIterable<StreamItem>, left: AbortSignal): Promise<OpenStream> {
  const rest = items[Symbol.asyncIterator]();
  const leave = (): void => void rest.return?.().then(undefined, ignore);
  left.addEventListener("abort", leave, { once: true });
  try {
    return { first: await rest.next(), rest };
  } finally {
    left.removeEventListener("abort", leave);
  }
}

function ignore(): void {}
