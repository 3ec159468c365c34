import type { Claim, ClaimOutcome, Counters } from "./counters.js";

const isOfServer = ({ limit }: Claim): boolean => limit.ofServer;
const isOwn = ({ limit }: Claim): boolean => !limit.ofServer;

/**
 * Counts the limits of the server across all agents, and those of one agent separately. A call that the agent's limits
 * refuse is taken back from the server's.
 */
export function layeredCounters(server: Counters, own: Counters): Counters {
  return {
    take(claims) {
      const outer = server.take(claims.filter(isOfServer));
      const takeOwn = (outcome: ClaimOutcome) => {
        if (outcome.refusal !== undefined) return outcome;
        const inner = own.take(claims.filter(isOwn));
        return inner instanceof Promise ? inner.then((late) => join(outcome, late)) : join(outcome, inner);
      };
      return outer instanceof Promise ? outer.then(takeOwn) : takeOwn(outer);
    },
    async charge(claims) {
      const charges = [server.charge(claims.filter(isOfServer)), own.charge(claims.filter(isOwn))];
      return (await Promise.all(charges)).flat();
    },
  };
}

function join(outer: ClaimOutcome, inner: ClaimOutcome): ClaimOutcome {
  if (inner.refusal !== undefined) outer.undo();
  const undo = (): void => {
    outer.undo();
    inner.undo();
  };
  return { refusal: inner.refusal, balances: [...outer.balances, ...inner.balances], undo };
}
