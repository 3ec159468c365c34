import type { Claim, Counters } from "./counters.js";

const isOfServer = ({ limit }: Claim): boolean => limit.ofServer;
const isOwn = ({ limit }: Claim): boolean => !limit.ofServer;

/**
 * Counts the limits of the server across all agents, and those of one agent separately. A call that the agent's limits
 * refuse is taken back from the server's.
 */
export function layeredCounters(server: Counters, own: Counters): Counters {
  return {
    async take(claims) {
      const outer = await server.take(claims.filter(isOfServer));
      if (outer.refusal !== undefined) return outer;
      const inner = await own.take(claims.filter(isOwn));
      if (inner.refusal !== undefined) outer.undo();
      const undo = (): void => {
        outer.undo();
        inner.undo();
      };
      return { refusal: inner.refusal, balances: [...outer.balances, ...inner.balances], undo };
    },
    async charge(claims) {
      const charges = [server.charge(claims.filter(isOfServer)), own.charge(claims.filter(isOwn))];
      return (await Promise.all(charges)).flat();
    },
  };
}
