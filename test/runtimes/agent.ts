import { A2AError, type Agent, artifact, reply } from "trivium";

/** Shouts, names its caller, refuses, or counts up to where it waits. */
export function answers(wait: (at: number, signal: AbortSignal) => Promise<void>): Agent {
  return async function* ({ text, signal, principal }) {
    if (text === "refuse") throw new A2AError("unsupportedOperation", "not this");
    if (text === "who") return yield reply(principal.owner);
    const [, count = "0", at] = /^count (\d+)(?:, wait at (\d+))?$/.exec(text) ?? [];
    if (count === "0") return yield artifact(text.toUpperCase());
    for (let number = 1; number <= Number(count); number++) {
      yield artifact(String(number), { artifactId: `n-${number}` });
      if (number === Number(at)) await wait(number, signal);
    }
  };
}
