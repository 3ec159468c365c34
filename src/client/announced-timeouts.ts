import { withTimeout } from "../binding/deadline.js";
import { createTransport } from "../binding/transport.js";
import { invokeStream, invokeUnary } from "../protocol/operations.js";
import type { TransportFactory } from "./transports.js";

/**
 * A transport that sends the time limits of its calls on, as gRPC and Connect do by themselves. Not in browsers, where an
 * agent of another origin would have to allow the header.
 */
export function announceTimeouts(factory: TransportFactory): TransportFactory {
  if (factory.binding !== "JSONRPC" && factory.binding !== "HTTP+JSON") return factory;
  return {
    ...factory,
    async create(address, setting) {
      const transport = await factory.create(address, setting);
      const calls = createTransport({
        unary: (operation, request, options) => invokeUnary(transport, operation, request, withTimeout(options)),
        stream: (operation, request, options) => invokeStream(transport, operation, request, withTimeout(options)),
      });
      return { ...transport, ...calls };
    },
  };
}
