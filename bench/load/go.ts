import type { Wire } from "../clients/work.ts";
import type { Work } from "../cpu-probe.ts";
import { startLines } from "../go.ts";

/** How many messages the program in Go has in flight. */
export const goCallers = 16;

interface GoLoad {
  readonly wire: Wire;
  readonly port: number;
  /** The script that each message asks for: `message`, `task` or `stream N`. */
  readonly text: string;
}

/** Sends messages by clients that are not ours: Go's `net/http`, and grpc-go with four connections. Every answer is checked. */
export function createGoLoader({ wire, port, text }: GoLoad): Work {
  const program = startLines("load", ["-wire", wire, "-port", String(port), "-text", text]);
  return {
    run: async (count) => {
      const answer = await program.ask(String(count));
      if (answer !== "done") throw new Error(`load from Go: ${answer}`);
    },
    [Symbol.dispose]: () => void program.end(),
  };
}
