import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "../../src/client/node.js";
import type { Clock } from "../../src/protocol/async/clock.js";
import { A2AError } from "../../src/protocol/errors.js";
import { patientClients } from "../support/clients.js";
import { bindings, type CrashBinding, type Ledger } from "./ledger.js";
import type { MortalServer } from "./mortal-server.js";

/** A client per binding that retries for as long as a restart may take. */
export interface Callers extends AsyncDisposable {
  readonly of: Readonly<Record<CrashBinding, Client>>;
}

export async function connectAll({ url }: MortalServer): Promise<Callers> {
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as JsonObject;
  const connected = await Promise.all(
    bindings.map(async (binding) => [binding, await connect(card, binding)] as const),
  );
  const of = Object.fromEntries(connected) as Record<CrashBinding, Client>;
  return {
    of,
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(of).map((client) => client.close()));
    },
  };
}

function connect(card: JsonObject, binding: CrashBinding): Promise<Client> {
  const listed = card["supportedInterfaces"] as JsonObject[];
  const one = listed.filter((each) => each["protocolBinding"] === binding && each["protocolVersion"] === "1.0");
  if (one.length !== 1) throw new Error(`the card lists ${binding} ${one.length} times in version 1.0`);
  return patientClients.connect(
    { ...card, supportedInterfaces: one },
    {
      grpcTls: false,
      clock: impatient,
      retry: { maxAttempts: 1000, firstPauseMs: 50, budget: Number.MAX_SAFE_INTEGER },
      // What keeps silent is being started again.
      limits: { streamBreaksMax: 1000 },
      // No call takes this long: one without an answer by then would never get one.
      timeoutMs: 120_000,
    },
  );
}

// A killed server is back soon.
const impatient: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, 150));
    return () => clearTimeout(timer);
  },
};

/** Errors that a caller must expect while the server is killed. */
export type Expected = A2AError["code"];

/** Returns the result of a call, or `undefined` if it failed in an expected way. Any other failure is a fault. */
export async function attempt<T>(
  ledger: Ledger,
  what: string,
  call: () => Promise<T>,
  ...expected: readonly Expected[]
): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    const code = error instanceof A2AError ? error.code : undefined;
    if (code === "unavailable") ledger.tally.unanswered++;
    else if (code === undefined || !expected.includes(code))
      ledger.faults.push(`${what} failed: ${failureText(error)}`);
    return undefined;
  }
}

/** The text of a failure, with its stack if it is no protocol error. */
export function failureText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = error instanceof A2AError ? `${error.code}: ` : "";
  return `${code}${error.message}${error instanceof A2AError ? "" : `\n${error.stack}`}`;
}
