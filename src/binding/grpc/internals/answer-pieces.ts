import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { answerCounter } from "../../fetch/node-answer.js";

// grpc-js collects the pieces of an answer until it is complete, and counts them nowhere. Node reports every HTTP/2 stream
// that is opened, in the asynchronous context of the call that opens it. Tried with grpc-js 1.14.7 and Node 24.21; Node
// 22.13 reports none, and there an answer counts once it is complete. Costs a listener for each call within `answerCounter.run`. Without it, unfinished answers could
// fill the memory of a gateway.

const streamCreated = "http2.client.stream.created";
/** Memory of a small piece besides its bytes. */
const pieceCost = 256;

interface StreamCreated {
  readonly stream: { on(event: "data", listener: (piece: Uint8Array) => void): unknown };
}

/** Reports the pieces of answers to gRPC calls that are made within `answerCounter.run`, until the returned function is called. */
export function reportAnswerPieces(): () => void {
  const report = (message: unknown): void => {
    const countBytes = answerCounter.getStore();
    if (countBytes === undefined) return;
    const { stream } = message as StreamCreated;
    stream.on("data", (piece) => countBytes(piece.length + pieceCost));
  };
  subscribe(streamCreated, report);
  return () => unsubscribe(streamCreated, report);
}
