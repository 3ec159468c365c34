// Books berths: asks for the ship, and holds the berth until its harbor office answers, which may take a minute.
import { type Agent, artifact, data, inputRequired, reply, textOf, working } from "trivium";

export interface Office {
  book(ship: string, signal: AbortSignal): Promise<string>;
}

export function berths(office: Office): Agent {
  return async function* ({ text, principal, ask, signal }) {
    if (text === "who am I?") {
      yield reply(principal.owner);
      return;
    }
    const ship = textOf(await ask(inputRequired("Which ship?")));
    yield working(`booking for ${ship}`);
    const berth = await office.book(ship, signal);
    yield artifact([`Berth ${berth} for ${ship}.`, data({ berth })], { name: "booking" });
  };
}
