import { type Message as AnyMessage, fromBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { OpenContext } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { invokeStream, invokeUnary } from "../../protocol/operations.js";
import { extensionsParameter, formatExtensions } from "../../protocol/service-parameters.js";
import { openContext } from "../grpc/admission.js";
import type { RpcMethod } from "../grpc/method.js";
import type { HttpRequest } from "../http.js";
import type { Service } from "../service.js";
import { errorToConnect } from "./errors.js";

/** One call over Connect or gRPC-Web. What it throws is an error that the library can write. */
export class ConnectCall {
  readonly #request: HttpRequest;
  readonly #service: Service;
  readonly #method: RpcMethod;
  #context: OpenContext | undefined;
  #bytes = 0;

  constructor(request: HttpRequest, service: Service, method: RpcMethod) {
    this.#request = request;
    this.#service = service;
    this.#method = method;
  }

  /** Finds out who calls, before the body is read. */
  async admit(responseHeader: Headers): Promise<void> {
    const header = (name: string) => this.#request.header(name);
    try {
      const principal = await this.#service.authenticate({ binding: "connect", header });
      const { version } = this.#method.face;
      this.#context = openContext(this.#service, { principal, binding: "connect", version, header });
    } catch (error) {
      throw this.#public(error);
    }
    const { extensions } = this.#context;
    if (extensions.length > 0) responseHeader.set(extensionsParameter, formatExtensions(extensions));
  }

  async *body(maxBytes: number): AsyncGenerator<Uint8Array> {
    try {
      const bytes = await this.#request.body(maxBytes);
      this.#bytes = bytes.length;
      yield bytes;
    } catch (error) {
      throw this.#public(error);
    }
  }

  async unary(wire: AnyMessage, { signal }: HandlerContext): Promise<AnyMessage> {
    const { face, operation } = this.#method;
    try {
      using context = this.#enter(signal);
      const request = face.readRequest(operation, wire);
      const reply = await invokeUnary(this.#service.handler, operation, request, context.open);
      return face.writeReply(operation, reply, request);
    } catch (error) {
      throw this.#public(error);
    }
  }

  async *stream(wire: AnyMessage, { signal }: HandlerContext): AsyncGenerator<AnyMessage> {
    const { face, operation, descriptor } = this.#method;
    try {
      using context = this.#enter(signal);
      const request = face.readRequest(operation, wire);
      const writer = face.writeStream(operation, request);
      for await (const item of invokeStream(this.#service.handler, operation, request, context.open)) {
        // The library encodes by itself, in JSON perhaps, and so wants messages.
        for (const { payload } of writer.write(item)) yield fromBinary(descriptor.output, payload);
      }
    } catch (error) {
      throw this.#public(error);
    }
  }

  /** Counts the call in until it is disposed of; the signal tells that the caller has gone or its deadline passed. */
  #enter(signal: AbortSignal): Disposable & { readonly open: OpenContext } {
    const open = this.#context;
    if (open === undefined) throw new A2AError("unauthenticated", "the caller is not known");
    const { principal } = open;
    const { streams } = this.#method.operation;
    const countOut = this.#service.enter({ principal, bytes: this.#bytes, streams });
    const leave = (): void => open.leave(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    return {
      open,
      [Symbol.dispose]: () => {
        signal.removeEventListener("abort", leave);
        countOut();
      },
    };
  }

  #public(error: unknown): Error {
    return errorToConnect(this.#service.publicError(error));
  }
}
