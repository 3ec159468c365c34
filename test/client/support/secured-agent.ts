import { A2AError } from "../../../src/protocol/errors.js";
import { type CountingAgent, countingAgent } from "./counting-agent.js";

/** An agent that lets in whoever shows the right header. */
export interface SecuredAgent extends CountingAgent {
  /** What callers have shown, in their order. */
  readonly shown: readonly (string | undefined)[];
}

/** Serves an agent that asks for a header with a value; `challenge` is what others are told. */
export async function securedAgent(
  name: string,
  isRight: (value: string) => boolean,
  challenge = 'Bearer realm="port"',
): Promise<SecuredAgent> {
  const shown: (string | undefined)[] = [];
  const agent = await countingAgent({
    authenticate(caller) {
      const value = caller.header(name);
      shown.push(value);
      if (value !== undefined && isRight(value)) return { owner: "ada" };
      throw new A2AError("unauthenticated", "show who you are", { challenge });
    },
  });
  return Object.defineProperty(agent as SecuredAgent, "shown", { value: shown });
}
