import { connect, type Socket } from "node:net";
import { answerHttp } from "./fault-answers.js";
import { carry } from "./fault-flow.js";
import type { Ending, Rule } from "./fault-schedule.js";

/** Where a proxy connects to. */
export interface Target {
  readonly host?: string | undefined;
  readonly port: number;
}

/** An accepted connection. */
export interface AcceptedConnection {
  readonly caller: Socket;
  readonly target: Target;
  /** Called when bytes were read or passed on. */
  onProgress(): void;
}

type FlowRule = Extract<Rule, { readonly kind: "flow" }>;
type RawRule = Extract<Rule, { readonly kind: "raw" }>;

/** Applies a rule to a connection. */
export function play(rule: Rule, connection: AcceptedConnection): void {
  const { caller, onProgress } = connection;
  switch (rule.kind) {
    case "close":
      caller.resume().end();
      return;
    case "refuse":
    case "reset":
      caller.resetAndDestroy();
      return;
    case "hang":
      caller.on("data", onProgress).on("end", () => caller.end());
      return;
    case "answer":
      answerHttp(caller, rule.answer, onProgress);
      return;
    case "raw":
      answerRaw(rule, connection);
      return;
    case "pass":
      join({ kind: "flow" }, connection);
      return;
    case "flow":
      join(rule, connection);
  }
}

function answerRaw({ bytes, ending = "end" }: RawRule, { caller, onProgress }: AcceptedConnection): void {
  caller.on("data", onProgress).on("end", () => caller.end());
  caller.once("data", () => {
    caller.write(bytes, () => {
      if (ending === "end") caller.end();
      if (ending === "reset") caller.resetAndDestroy();
    });
  });
}

function join(
  { request = {}, response = {} }: FlowRule,
  { caller, target: { host, port }, onProgress }: AcceptedConnection,
): void {
  const target = connect({ host: host ?? "127.0.0.1", port, allowHalfOpen: true, noDelay: true });
  target.on("error", ignore);
  caller.on("close", () => target.destroy());
  const cutConnection = (to: Socket, how: Ending): void => {
    for (const socket of how === "half" ? [to] : [caller, target]) {
      if (how === "reset") socket.resetAndDestroy();
      else socket.end();
    }
  };
  carry({
    from: caller,
    to: target,
    flow: request,
    onProgress,
    cutConnection: (how) => cutConnection(target, how),
  }).then((outcome) => {
    if (outcome === "ended") target.end();
    else target.destroy();
  }, ignore);
  carry({
    from: target,
    to: caller,
    flow: response,
    onProgress,
    cutConnection: (how) => cutConnection(caller, how),
  }).then((outcome) => {
    if (outcome === "ended") caller.end();
    else caller.resetAndDestroy();
  }, ignore);
}

function ignore(): void {}
