import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "../../../protocol/context.js";
import { invoke, type OperationName, type Operations, operations } from "../../../protocol/operations.js";
import type { FileBytes } from "../../options.js";
import type { Reading, WireForm } from "./parts.js";

/** The facts known about a peer. */
interface Peer {
  fileBytes: FileBytes | undefined;
}

// A call signature assignable to that of every operation.
type AnyCall = (request: AnyMessage, options: CallOptions) => Promise<never> & AsyncIterable<never>;

/**
 * Tracks how the peers of one adapter encode file bytes. A server uses the form of each request for its reply. A client
 * remembers the form per transport, once the agent has sent a file.
 */
export class Peers {
  readonly #byRequest = new WeakMap<AnyMessage, Peer>();
  readonly #defaultForm: WireForm;

  /** `otherwise` is the form for a peer that has not shown its own. */
  constructor(defaultForm: WireForm) {
    this.#defaultForm = defaultForm;
  }

  /** Wraps a client's transport so that its peer's form is remembered. */
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

  /** On the server, records the form of a request. */
  note(request: AnyMessage, { fileBytes }: Reading): void {
    if (fileBytes !== undefined) this.#byRequest.set(request, { fileBytes });
  }

  /** Returns the form for the peer of a request. */
  formFor(request: AnyMessage): WireForm {
    const fileBytes = this.#byRequest.get(request)?.fileBytes;
    return fileBytes === undefined ? this.#defaultForm : { ...this.#defaultForm, fileBytes };
  }

  /** On the client, reads the reply to a request. */
  readReply<M>(request: AnyMessage | undefined, read: (reading: Reading) => M): M {
    const peer = request === undefined ? undefined : this.#byRequest.get(request);
    const reading: Reading = { from: "agent", fileBytes: peer?.fileBytes, violations: [] };
    const reply = read(reading);
    if (peer !== undefined) peer.fileBytes = reading.fileBytes;
    return reply;
  }
}
