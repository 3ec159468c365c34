import type { Claim, Counters } from "./counters.js";

const isOfServer = ({ limit }: Claim): boolean => limit.ofServer;
const isOwn = ({ limit }: Claim): boolean => !limit.ofServer;

/** Counts the limits of a server for all its agents, and those of one agent for itself. */
export function layeredCounters(server: Counters, own: Counters): Counters {
  return {
    async take(claims) {
      const outer = await server.take(claims.filter(isOfServer));
      if (outer.refused !== undefined) return outer;
      const inner = await own.take(claims.filter(isOwn));
      if (inner.refused !== undefined) outer.undo();
      const undo = (): void => {
        outer.undo();
        inner.undo();
      };
      return { refused: inner.refused, standings: [...outer.standings, ...inner.standings], undo };
    },
    async charge(claims) {
      const charged = [server.charge(claims.filter(isOfServer)), own.charge(claims.filter(isOwn))];
      return (await Promise.all(charged)).flat();
    },
  };
}
