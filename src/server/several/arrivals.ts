import type { CallHead, LimitedCall, Service } from "../../binding/service.js";
import { A2AError } from "../../protocol/errors.js";
import type { SharedParts } from "./shared-parts.js";

/**
 * Counts for its address what reaches the server before an agent is known. `undefined` where the server limits no address.
 * The counters are opened with the first request: they may be in the store.
 */
export function openArrivals({
  rates,
  process,
  options,
}: Pick<SharedParts, "rates" | "process" | "options">): Service["rates"] {
  if (rates === undefined || !rates.limitsAddresses) return undefined;
  const open = async () => rates.calls((await process.tasks()).rates, options.trustProxy);
  let opening: ReturnType<typeof open> | undefined;
  return (head: CallHead): LimitedCall => {
    let call: LimitedCall | undefined;
    return {
      async arrive() {
        opening ??= open();
        call = (await opening)(head);
        await call.arrive();
      },
      checkCaller: () => undefined,
      admit: () => Promise.reject(new A2AError("internalError", "the call has no agent yet")),
      get fields() {
        return call?.fields ?? {};
      },
      leave: () => call?.leave(),
    };
  };
}
