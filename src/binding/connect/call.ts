import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { OpenContext } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { invokeStream, invokeUnary } from "../../protocol/operations.js";
import { formatExtensions } from "../../protocol/service-parameters.js";
import { openContext } from "../grpc/admission.js";
import type { RpcMethod } from "../grpc/method.js";
import { expectedBytes, handlerFor } from "../http/call.js";
import type { HttpRequest } from "../http/http.js";
import type { Service } from "../service.js";
import { errorToConnect } from "./errors.js";

export interface ConnectCallOptions {
  readonly request: HttpRequest;
  readonly service: Service;
  readonly method: RpcMethod;
  readonly bodyMaxBytes: number;
}

/** One call over Connect or gRPC-Web. What it throws is an error that the library can write. */
export class ConnectCall {
  readonly #options: ConnectCallOptions;
  #context: OpenContext | undefined;
  #countOut: (() => void) | undefined;
  #hasBody: boolean = false;
  #reached: boolean = false;

  constructor(options: ConnectCallOptions) {
    this.#options = options;
  }

  /** Whether the operation was reached. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Whether the body was there and no request was found in it. */
  get misread(): boolean {
    return this.#hasBody && !this.#reached;
  }

  /** Finds out who calls, before the body is read. */
  async admit(responseHeader: Headers): Promise<void> {
    if (this.#hasBody) throw this.#public(unreadable(this.#options.method));
    const { request, service, method, bodyMaxBytes } = this.#options;
    const header = (name: string) => request.header(name);
    try {
      const principal = await service.authenticate({ binding: "connect", header });
      const { face } = method;
      const context = openContext(service, { principal, binding: "connect", face, header });
      const { extensions } = context;
      if (extensions.length > 0) responseHeader.set(face.extensionsName, formatExtensions(extensions));
      const bytes = expectedBytes(request, bodyMaxBytes);
      this.#countOut = service.enter({ principal, bytes, streams: method.operation.streams });
      this.#context = context;
    } catch (error) {
      throw this.#public(error);
    }
  }

  async *body(): AsyncGenerator<Uint8Array> {
    const { request, bodyMaxBytes } = this.#options;
    try {
      const bytes = await request.body(bodyMaxBytes);
      this.#hasBody = true;
      yield bytes;
    } catch (error) {
      throw this.#public(error);
    }
  }

  async unary(wire: AnyMessage, { signal }: HandlerContext): Promise<AnyMessage> {
    const { service, method } = this.#options;
    const { face, operation } = method;
    try {
      const context = this.#reach(signal);
      const request = face.readRequest(operation, wire);
      const reply = await invokeUnary(handlerFor(face, service), operation, request, context);
      return face.writeReply(operation, reply, request);
    } catch (error) {
      throw this.#public(error);
    }
  }

  async *stream(wire: AnyMessage, { signal }: HandlerContext): AsyncGenerator<AnyMessage> {
    const { service, method } = this.#options;
    const { face, operation } = method;
    try {
      const context = this.#reach(signal);
      const request = face.readRequest(operation, wire);
      const writer = face.writeStream(operation, request);
      for await (const item of invokeStream(handlerFor(face, service), operation, request, context)) {
        // The library encodes by itself, in JSON perhaps.
        for (const { payload } of writer.write(item)) yield payload;
      }
      for (const { payload } of writer.end?.() ?? []) yield payload;
    } catch (error) {
      throw this.#public(error);
    } finally {
      this.end();
    }
  }

  /** Counts the call out. */
  end(): void {
    this.#countOut?.();
  }

  /** The signal tells that the caller has gone, that its deadline has passed, or at last that the call is over. */
  #reach(signal: AbortSignal): OpenContext {
    this.#reached = true;
    const context = this.#context;
    if (context === undefined) throw new A2AError("unauthenticated", "the caller is not known");
    signal.addEventListener("abort", () => context.leave(signal.reason), { once: true });
    return context;
  }

  #public(error: unknown): Error {
    return errorToConnect(this.#options.service.publicError(error));
  }
}

function unreadable({ descriptor }: RpcMethod): A2AError {
  return new A2AError("parseError", `the request cannot be read as ${descriptor.input.typeName}`);
}
