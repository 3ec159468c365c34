import { A2AError } from "../../../src/protocol/errors.js";
import { type CountingAgent, countingAgent } from "./counting-agent.js";

/** An agent that admits callers with the right header. */
export interface SecuredAgent extends CountingAgent {
  /** The header values received, in order. */
  readonly shown: readonly (string | undefined)[];
}

/** Serves an agent that requires a header with a value. Other callers get `challenge`. */
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
