import { describe, expect, it } from "vitest";
import { CallMeter } from "../../src/binding/call-meter.js";
import { handlerFor, ServerCall } from "../../src/binding/server-call.js";
import type { EndedCall, Service } from "../../src/binding/service.js";
import { A2AError } from "../../src/protocol/errors.js";
import { serviceOf } from "../support/echo-service.js";

it("an adapter that two agents share serves each its own handler, created once", () => {
  const adapter = { version: "1.0", serve: (handler: Service["handler"]) => ({ ...handler }) };
  const [one, other] = [serviceOf({}), serviceOf({})];
  const adapterHandler = handlerFor(adapter, one);
  expect(adapterHandler.getTask).toBe(one.handler.getTask);
  expect(handlerFor(adapter, other).getTask).toBe(other.handler.getTask);
  expect(handlerFor(adapter, one)).toBe(adapterHandler);
  expect(handlerFor({ version: "1.0" }, one)).toBe(one.handler);
});

describe("the access log", () => {
  function callLogged(): { readonly call: ServerCall; readonly ended: EndedCall[] } {
    const ended: EndedCall[] = [];
    const observer = { begin: () => new CallMeter(0), end: (call: EndedCall) => void ended.push(call) };
    const head = { binding: "JSONRPC", header: () => undefined } as const;
    return { call: new ServerCall(serviceOf({}, { observer }), head), ended };
  }

  it.each([
    { reason: undefined, code: "CANCELLED" },
    { reason: new DOMException("aborted", "AbortError"), code: "CANCELLED" },
    { reason: new A2AError("deadlineExceeded", "too late"), code: "deadlineExceeded" },
  ])("the access log hears why a caller left, whatever its operation makes of it: $code", ({ reason, code }) => {
    const { call, ended } = callLogged();
    call.leave(reason);
    call.publicError(new TypeError("aborted"));
    call.end();
    call.end();
    expect(ended.map(({ meter }) => meter.code)).toEqual([code]);
  });

  it("the access log hears the first error of a call", () => {
    const { call, ended } = callLogged();
    call.publicError(new A2AError("parseError", "no JSON"));
    call.leave();
    call.end();
    expect(ended).toMatchObject([{ binding: "JSONRPC", operation: undefined, principal: undefined }]);
    expect(ended[0]?.meter.code).toBe("parseError");
  });
});
