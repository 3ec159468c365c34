import type { ReceivedSpan } from "./otlp-receiver.js";

/** A trace as lines, each below its parent: `CLIENT SendMessage`. The probes of clients are left out. */
export function treeOf(spans: readonly ReceivedSpan[], traceId: string): readonly string[] {
  const spansOfTrace = spans.filter((span) => span.traceId === traceId && !isProbe(span));
  const ids = new Set(spansOfTrace.map(({ spanId }) => spanId));
  const below = (parentId: string | undefined, depth: number): readonly string[] =>
    spansOfTrace
      .filter((span) => (parentId === undefined ? !ids.has(span.parentId) : span.parentId === parentId))
      .map((span) => [`${"  ".repeat(depth)}${lineOf(span)}`, ...below(span.spanId, depth + 1)])
      .toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1))
      .flat();
  return below(undefined, 0);
}

function lineOf({ kind, name }: ReceivedSpan): string {
  return `${kind} ${name.replace("lf.a2a.v1.A2AService/", "")}`;
}

/** A client asks for a task that does not exist before it sends a message over an interface that it does not know. */
function isProbe({ name, attributes }: ReceivedSpan): boolean {
  return name.endsWith("/GetTask") && attributes["error.type"] === "taskNotFound";
}
