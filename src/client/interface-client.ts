import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { Credential, CredentialSource } from "../auth/credentials.js";
import type { Transport } from "../binding/transport.js";
import { leaveStream } from "../protocol/async/steps.js";
import { dynamic } from "../protocol/codec/outline/dynamic.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import { invokeStream, invokeUnary, type Operation, type StreamItem } from "../protocol/operations.js";
import { withoutEmptyCredentials } from "../protocol/service-parameters.js";
import { CredentialsError, type InterfaceName, NotCalledError } from "./connection.js";
import type { SecretPolicy } from "./secret-policy.js";

/** A stream whose first event has arrived, which proves that the agent was reached. */
export interface OpenStream {
  readonly first: IteratorResult<StreamItem, unknown>;
  readonly rest: AsyncIterator<StreamItem, unknown>;
}

/** One attempt at a call. */
export interface Attempt {
  unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage>;
  /** `leaveSignal` aborts when the reader leaves the stream. */
  open(operation: Operation, request: AnyMessage, options: CallOptions, leaveSignal: AbortSignal): Promise<OpenStream>;
}

export interface InterfaceClientOptions {
  readonly name: InterfaceName;
  /** Used for requests without a tenant. */
  readonly tenant: string;
  /** Whether requests can name a tenant. */
  readonly takesTenants: boolean;
  /** The card does not say whether the agent speaks this version or another one listed for the same URL. */
  readonly isGuess: boolean;
  readonly connect: () => Transport | Promise<Transport>;
  readonly credentials: CredentialSource | undefined;
  /** Says which secrets it is called with; asked once. */
  readonly secretPolicy: () => Promise<SecretPolicy>;
  /** Headers of every call; credentials do not replace them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Extensions to activate for streams. */
  readonly streamExtensions: readonly string[];
  /** Aborts when the client is closed. */
  readonly closeSignal: AbortSignal;
}

/** Calls one interface of an agent with its tenant and credentials. Answers one challenge per call. */
export class InterfaceClient implements Attempt {
  readonly name: InterfaceName;
  readonly isGuess: boolean;
  readonly #options: InterfaceClientOptions;
  #connecting: Promise<Transport> | undefined;
  #transport: Transport | undefined;
  #isClosed = false;
  /** Calls have neither credentials nor headers, unless they bring their own. */
  readonly #isPlain: boolean;
  #secretPolicy: SecretPolicy | undefined;

  constructor(options: InterfaceClientOptions) {
    this.name = options.name;
    this.isGuess = options.isGuess;
    this.#options = options;
    this.#isPlain = options.credentials === undefined && Object.keys(options.headers).length === 0;
  }

  async unary(operation: Operation, request: AnyMessage, options: CallOptions): Promise<AnyMessage> {
    const transport = this.#transport ?? (await this.#connect());
    const message = this.#withTenant(request);
    const callOptions = transport.close === undefined ? options : this.#untilClosed(options);
    // Awaited, since a returned promise costs two more microtasks.
    return await this.#checkAndCall(callOptions, (authorized) =>
      invokeUnary(transport, operation, message, authorized),
    );
  }

  async open(
    operation: Operation,
    request: AnyMessage,
    options: CallOptions,
    leaveSignal: AbortSignal,
  ): Promise<OpenStream> {
    const transport = this.#transport ?? (await this.#connect());
    const message = this.#withTenant(request);
    return this.#checkAndCall(this.#withExtensions(options), (authorized) =>
      openStream(invokeStream(transport, operation, message, authorized), leaveSignal),
    );
  }

  /** Releases the connection; open streams may continue. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#transport = undefined;
    const transport = await this.#connecting?.catch(() => undefined);
    await transport?.close?.();
  }

  async #connect(): Promise<Transport> {
    if (this.#isClosed)
      throw new ConnectionError(`the client of ${this.name.url} is closed`, {
        written: false,
      });
    this.#connecting ??= Promise.resolve().then(this.#options.connect);
    try {
      const transport = await this.#connecting;
      if (!this.#isClosed) this.#transport = transport;
      return transport;
    } catch (cause) {
      this.#connecting = undefined;
      if (cause instanceof A2AError) throw cause;
      throw new ConnectionError(`cannot reach ${this.name.url}`, { cause, written: false });
    }
  }

  #withTenant(request: AnyMessage): AnyMessage {
    const { tenant, takesTenants } = this.#options;
    const requestTenant = dynamic(request)["tenant"];
    if (!takesTenants && typeof requestTenant === "string" && requestTenant !== "") {
      throw new NotCalledError(this.name.url, `version ${this.name.version} cannot name the tenant ${requestTenant}`);
    }
    if (tenant === "" || requestTenant !== "") return request;
    return { ...request, tenant } as typeof request;
  }

  // A transport with its own connections may let calls continue after it closes.
  #untilClosed(options: CallOptions): CallOptions {
    const { closeSignal } = this.#options;
    return {
      ...options,
      signal: options.signal === undefined ? closeSignal : AbortSignal.any([options.signal, closeSignal]),
    };
  }

  #withExtensions(options: CallOptions): CallOptions {
    const { streamExtensions } = this.#options;
    if (streamExtensions.length === 0) return options;
    return { ...options, extensions: [...new Set([...(options.extensions ?? []), ...streamExtensions])] };
  }

  #checkAndCall<T>(options: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const isPlain = this.#isPlain && options.headers === undefined && options.query === undefined;
    return isPlain ? call(options) : this.#withSecrets(options, call);
  }

  async #withSecrets<T>(callOptions: CallOptions, call: (options: CallOptions) => Promise<T>): Promise<T> {
    const { credentials, headers } = this.#options;
    const { noHeaders, noCredentials } = await this.#loadPolicy();
    const options =
      callOptions.headers === undefined
        ? callOptions
        : { ...callOptions, headers: withoutEmptyCredentials(callOptions.headers) };
    if (credentials?.isSure === true) this.#assertAllowed(noCredentials);
    this.#assertAllowed(noHeaders(Object.keys({ ...headers, ...options.headers, ...options.query })));
    return credentials === undefined ? call(options) : this.#withCredentials(credentials, options, call);
  }

  async #withCredentials<T>(
    credentials: CredentialSource,
    options: CallOptions,
    call: (options: CallOptions) => Promise<T>,
  ): Promise<T> {
    const { headers } = this.#options;
    const withGrant = (credential: Credential | undefined): CallOptions => withCredential(options, credential, headers);
    const credential = await credentials.get(options.signal).catch(throwCredentialsError);
    if (credential !== undefined) this.#assertAllowed((await this.#loadPolicy()).noCredentials);
    try {
      return await call(withGrant(credential));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const better = await credentials.renew(credential, error, options.signal).catch(throwCredentialsError);
      if (better === undefined) throw error;
      this.#assertAllowed((await this.#loadPolicy()).noCredentials);
      return call(withGrant(better));
    }
  }

  async #loadPolicy(): Promise<SecretPolicy> {
    this.#secretPolicy ??= await this.#options.secretPolicy();
    return this.#secretPolicy;
  }

  #assertAllowed(reason: string | undefined): void {
    if (reason !== undefined) throw new NotCalledError(this.name.url, reason);
  }
}

function throwCredentialsError(error: unknown): never {
  throw error instanceof A2AError ? new CredentialsError(error, error) : error;
}

function isRefusal(error: unknown): error is A2AError {
  return error instanceof A2AError && (error.code === "unauthenticated" || error.code === "permissionDenied");
}

// The caller's headers take precedence over credentials.
function withCredential(
  options: CallOptions,
  credential: Credential | undefined,
  headers: Readonly<Record<string, string>>,
): CallOptions {
  if (credential === undefined) return options;
  const callerNames = new Set([headers, options.headers ?? {}].flatMap(Object.keys).map((name) => name.toLowerCase()));
  const headerEntries = Object.entries(credential.headers ?? {}).filter(
    ([name]) => !callerNames.has(name.toLowerCase()),
  );
  return {
    ...options,
    headers: { ...Object.fromEntries(headerEntries), ...options.headers },
    query: { ...credential.query, ...options.query },
  };
}

/** Reads the first event, unless the reader leaves before. */
export async function openStream(items: AsyncIterable<StreamItem>, leaveSignal: AbortSignal): Promise<OpenStream> {
  leaveSignal.throwIfAborted();
  const rest = items[Symbol.asyncIterator]();
  const leave = (): void => leaveStream(rest);
  leaveSignal.addEventListener("abort", leave, { once: true });
  try {
    const first = await rest.next();
    // The end of a stream that was left is no answer of the agent.
    if (first.done === true) leaveSignal.throwIfAborted();
    return { first, rest };
  } finally {
    leaveSignal.removeEventListener("abort", leave);
  }
}
