import type { Message as AnyMessage, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { JsonValueCounter } from "../../protocol/codec/value-count.js";
import { A2AError, errorTable, invalidParams } from "../../protocol/errors.js";
import { formatExtensions } from "../../protocol/service-parameters.js";
import { buildDetails } from "../grpc/details.js";
import { methodFor, type RpcMethod, type ServedPath } from "../grpc/method.js";
import { errorHeaders, readHead } from "../http/call.js";
import type { HttpRequest } from "../http/http.js";
import { requestIdHeader } from "../request-id.js";
import { ServerCall } from "../server-call.js";
import { endOfTurn, type Service } from "../service.js";
import { type BodyForm, measureBody } from "./body-checks.js";

// One call over Connect or gRPC-Web, between the pipeline and connect-es, which frames and codes the messages. connect-es
// asks for admission before it reads the body (`admit`), takes the body checked and decompressed (`body`), and then runs
// `unary` or `stream`. A body that it cannot decode never reaches either of them; then it is asked again, and `admit`
// reports the caller's fault.

export interface ConnectCallOptions {
  readonly request: HttpRequest;
  readonly service: Service;
  readonly path: ServedPath;
  readonly form: BodyForm;
}

/** One call over Connect or gRPC-Web. It throws only errors that connect-es can write. */
export class ConnectCall {
  readonly #options: ConnectCallOptions;
  #method: RpcMethod;
  #call: ServerCall | undefined;
  #hasBody: boolean = false;
  #reached: boolean = false;
  #answered = false;
  #failedStatus: number | undefined;

  constructor(options: ConnectCallOptions) {
    this.#options = options;
    [this.#method] = options.path.methods;
  }

  /** Whether the call got as far as the operation. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Whether a body was read but did not decode to a request. */
  get misread(): boolean {
    return this.#hasBody && !this.#reached;
  }

  /** Authenticates and admits the call before the body is read. */
  async admit(responseHeader: Headers): Promise<void> {
    const { request, service, path } = this.#options;
    const call = this.#call ?? new ServerCall(service, readHead("CONNECT", request));
    this.#call = call;
    responseHeader.set(requestIdHeader, call.requestId);
    if (this.#hasBody) throw this.#publicError(unreadableRequest(this.#method));
    try {
      await call.authenticate();
      this.#method = methodFor(call, path);
      const { extensionsName } = this.#method.adapter;
      if (call.extensions.length > 0) responseHeader.set(extensionsName, formatExtensions(call.extensions));
      call.admit();
    } catch (error) {
      throw this.#publicError(error);
    }
  }

  /** The HTTP status of the error that has ended the call; `undefined` if none has. */
  get failedStatus(): number | undefined {
    return this.#failedStatus;
  }

  async *body(): AsyncGenerator<Uint8Array> {
    const { request, form } = this.#options;
    const countBytes = (piece: Uint8Array): void => this.#call?.receive(piece.length);
    try {
      const values = form.isJson && !form.isGzip ? new JsonValueCounter(form.maxValues) : undefined;
      const bytes = await request.body(form.maxBytes, (piece) => {
        countBytes(piece);
        values?.add(piece);
      });
      const { adapter, descriptor, operation } = this.#method;
      const { input } = descriptor;
      const onJson = (json: JsonValue): void => {
        const violations = adapter.foreignNamesIn(operation, json);
        if (violations.length > 0) throw invalidParams(...violations);
      };
      const measured = await measureBody(bytes, form, { input, countBytes, onJson });
      this.#hasBody = true;
      yield measured;
    } catch (error) {
      throw this.#publicError(error);
    }
  }

  async unary(wire: AnyMessage, { signal, responseHeader }: HandlerContext): Promise<AnyMessage> {
    const { adapter, operation } = this.#method;
    try {
      const call = this.#reach(signal);
      const request = adapter.readRequest(operation, wire);
      const reply = await call.unary(request);
      addFields(responseHeader, call);
      this.#answered = true;
      if (call.isLarge(reply)) await call.work(turnFor(call, reply));
      return adapter.writeReply(operation, reply, request);
    } catch (error) {
      throw this.#publicError(error);
    }
  }

  async *stream(wire: AnyMessage, { signal, responseHeader }: HandlerContext): AsyncGenerator<AnyMessage> {
    const { adapter, operation } = this.#method;
    try {
      const call = this.#reach(signal);
      const request = adapter.readRequest(operation, wire);
      const writer = adapter.writeStream(operation, request);
      for await (const item of call.stream(request)) {
        // Sent with the first item.
        addFields(responseHeader, call);
        // connect-es encodes the message itself, possibly as JSON.
        if (call.isLarge(item.response)) await call.work(turnFor(call, item.response));
        for (const { payload } of writer.write(item)) yield payload;
      }
      this.#answered = true;
      for (const { payload } of writer.end?.() ?? []) yield payload;
    } catch (error) {
      throw this.#publicError(error);
    }
  }

  hold(bytes: number): void {
    this.#call?.hold(bytes);
  }

  countReply(piece: string | Uint8Array): void {
    this.#call?.countReply(piece);
  }

  release(bytes: number): void {
    this.#call?.release(bytes);
  }

  /** Ends the call and its admission. */
  end(): void {
    this.#call?.end();
  }

  /**
   * Returns the admitted call and ties it to `signal`, which aborts when the caller leaves, the deadline passes or the
   * call ends.
   */
  #reach(signal: AbortSignal): ServerCall {
    this.#reached = true;
    const call = this.#call;
    if (call === undefined) throw new A2AError("unauthenticated", "the caller is not known");
    const leave = (): void => {
      if (!this.#answered) call.leave(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    return call;
  }

  #publicError(error: unknown): Error {
    this.#answered = true;
    const call = this.#call ?? new ServerCall(this.#options.service, readHead("CONNECT", this.#options.request));
    const publicError = call.publicError(error);
    const connectError = errorToConnect(publicError);
    addFields(connectError.metadata, call);
    this.#failedStatus = call.chooseHttpStatus(publicError);
    return connectError;
  }
}

function addFields(headers: Headers, { rateFields }: ServerCall): void {
  for (const [name, value] of Object.entries(rateFields ?? {})) headers.set(name, value);
}

/** Takes the caller's turn for a large reply or event, if there is room. connect-es encodes it after the turn. */
function* turnFor(call: ServerCall, reply: AnyMessage): Generator<unknown, void> {
  call.release(call.reserve(reply));
  yield endOfTurn;
}

function unreadableRequest({ descriptor }: RpcMethod): A2AError {
  return new A2AError("parseError", `the request cannot be read as ${descriptor.input.typeName}`);
}

/** Encodes an error for Connect and gRPC-Web, with gRPC's code and the same typed details. */
function errorToConnect(error: A2AError): ConnectError {
  const message = error.message.toWellFormed();
  return new ConnectError(message, toConnectCode(error), errorHeaders(error), [...buildDetails(error)]);
}

/** Connect's codes have the same numbers as gRPC's. */
function toConnectCode(error: A2AError): Code {
  const { grpc } = errorTable[error.code];
  return codes.find((code) => code === grpc) ?? Code.Unknown;
}

const codes = Object.values(Code).filter((code) => typeof code === "number");
