import { Code, ConnectError } from "@connectrpc/connect";
import { type A2AError, errorTable } from "../../protocol/errors.js";
import { detailsOf } from "../grpc/details.js";
import { errorHeaders } from "../http/call.js";

/** Encodes an error for Connect and gRPC-Web, with gRPC's code and the same typed details. */
export function errorToConnect(error: A2AError): ConnectError {
  const message = error.message.toWellFormed();
  return new ConnectError(message, codeOf(error), errorHeaders(error), [...detailsOf(error)]);
}

/** Connect's codes have the same numbers as gRPC's. */
function codeOf(error: A2AError): Code {
  const { grpc } = errorTable[error.code];
  return codes.find((code) => code === grpc) ?? Code.Unknown;
}

const codes = Object.values(Code).filter((code) => typeof code === "number");
