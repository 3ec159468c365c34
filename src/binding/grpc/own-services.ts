import { type DescMessage, type DescMethod, type Message, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { A2AError } from "../../protocol/errors.js";
import { createStatus, errorToStatus, okStatus, type SentMetadata } from "./errors.js";
import { decodeMessage } from "./method.js";
import { encodeFrame, type GrpcReceiver, GrpcStream, type OpenedStream } from "./stream.js";

// Health checks and reflection, the services of gRPC itself. They are outside the pipeline, since they are about the
// server and not about an agent.

/** The handler of one method. Which messages it gets and gives shows in its descriptor. */
export interface OwnMethod {
  readonly input: DescMessage;
  readonly output: DescMessage;
  /** Returns a status if the caller may not call. Default: everybody may. */
  refuse?(call: OwnCall): Promise<SentMetadata | undefined>;
  onMessage(request: Message, call: OwnCall): void;
  /** The caller has sent its last message. Default: the call goes on until it leaves. */
  onHalfClose?(call: OwnCall): void;
}

/** Methods by path. */
export type OwnMethods = ReadonlyMap<string, OwnMethod>;

/** A method whose messages have their types. */
export function ownMethod<Input extends DescMessage, Output extends DescMessage>(
  { input, output }: DescMethod & { readonly input: Input; readonly output: Output },
  handler: {
    refuse?(call: OwnCall): Promise<SentMetadata | undefined>;
    onMessage(request: MessageShape<Input>, call: OwnCall): void;
    onHalfClose?(call: OwnCall): void;
  },
): OwnMethod {
  return { input, output, ...(handler as Pick<OwnMethod, "refuse" | "onMessage" | "onHalfClose">) };
}

/** Limit of a request message, which only holds a name: nothing counts its pieces, and anyone may send it. */
const messageMaxBytes = 4 << 10;
const maxValues = 1_000;

/** A call of one of these services. */
export class OwnCall implements GrpcReceiver {
  readonly opened: OpenedStream;
  readonly stream: GrpcStream;
  /** Called when the caller leaves before the end of the call. */
  onLeave: () => void = () => {};
  #method: OwnMethod | undefined;
  #hasRequest = false;

  constructor(opened: OpenedStream) {
    this.opened = opened;
    this.stream = new GrpcStream(opened, this);
  }

  /** Serves the call once its method is loaded. */
  async serve(loading: Promise<OwnMethods> | undefined): Promise<void> {
    const path = this.opened.headers[":path"] ?? "";
    try {
      this.#method = (await loading)?.get(path);
      const refusal =
        this.#method === undefined
          ? createStatus(12, `the server has no method ${path}`)
          : await this.#method.refuse?.(this);
      if (refusal === undefined) this.stream.read(messageMaxBytes);
      else this.end(refusal);
    } catch {
      this.end(createStatus(14, "the code of the method could not be loaded"));
    }
  }

  /** Sends a message. Reads no more while the caller does not take it. */
  send(message: Message): void {
    if (this.#method === undefined) return;
    if (!this.stream.isOpen) this.stream.open({});
    this.stream.send(encodeFrame(toBinary(this.#method.output, message)));
    const drained = this.stream.drained();
    if (drained === undefined) return;
    this.stream.pause();
    void drained.then(() => this.stream.resume());
  }

  /** Answers with one message. */
  reply(message: Message): void {
    this.send(message);
    this.end();
  }

  end(status: SentMetadata = okStatus): void {
    this.stream.end(status);
  }

  onBytes(): void {}

  onMessage(message: Buffer): void {
    const method = this.#method;
    if (method === undefined) return;
    this.#hasRequest = true;
    try {
      method.onMessage(decodeMessage(method.input, message, maxValues), this);
    } catch (error) {
      this.onFault(error as A2AError);
    }
  }

  onHalfClose(): void {
    if (this.#hasRequest) this.#method?.onHalfClose?.(this);
    else this.end(createStatus(3, "no request message"));
  }

  onFault(error: A2AError): void {
    this.onLeave();
    this.end(errorToStatus(error));
  }
}
