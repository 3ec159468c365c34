import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "../../../protocol/context.js";
import { invoke, type OperationName, type Operations, operations } from "../../../protocol/operations.js";
import type { FileBytes } from "../../options.js";
import type { Reading, WireForm } from "./parts.js";

/** What is known of the peer. */
interface Peer {
  fileBytes: FileBytes | undefined;
}

// What every operation's type has room for.
type AnyCall = (request: AnyMessage, options: CallOptions) => Promise<never> & AsyncIterable<never>;

/**
 * How the peers of one adapter write the bytes of files. A server knows it of each request, and answers that request
 * alike. A client knows it of the agent behind each of its transports, once that has sent a file.
 */
export class Peers {
  readonly #byRequest = new WeakMap<AnyMessage, Peer>();
  readonly #otherwise: WireForm;

  /** `otherwise`: how a peer is written to that has shown nothing. */
  constructor(otherwise: WireForm) {
    this.#otherwise = otherwise;
  }

  /** Gives a client's transport a memory of its own. */
  remember(transport: Operations<CallOptions>): Operations<CallOptions> {
    const peer: Peer = { fileBytes: undefined };
    const calls = operations.map((operation) => {
      const call = (request: AnyMessage, options: CallOptions) => {
        this.#byRequest.set(request, peer);
        return invoke(transport, operation, request, options);
      };
      return [operation.name, call as AnyCall] as const;
    });
    return Object.fromEntries(calls) as Record<OperationName, AnyCall>;
  }

  /** Notes at the server end what a request has shown. */
  note(request: AnyMessage, { fileBytes }: Reading): void {
    if (fileBytes !== undefined) this.#byRequest.set(request, { fileBytes });
  }

  /** How the peer of a request is written to. */
  formFor(request: AnyMessage): WireForm {
    const fileBytes = this.#byRequest.get(request)?.fileBytes;
    return fileBytes === undefined ? this.#otherwise : { ...this.#otherwise, fileBytes };
  }

  /** Reads at the client end what answers a request. */
  readReply<M>(request: AnyMessage | undefined, read: (reading: Reading) => M): M {
    const peer = request === undefined ? undefined : this.#byRequest.get(request);
    const reading: Reading = { from: "agent", fileBytes: peer?.fileBytes, violations: [] };
    const reply = read(reading);
    if (peer !== undefined) peer.fileBytes = reading.fileBytes;
    return reply;
  }
}
