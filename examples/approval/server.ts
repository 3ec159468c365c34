// Asks a person before it books. Questions wait in the store: end the process with kill -9 and start it again, and the answer
// still reaches the task.
import { artifact, inputRequired, rejected, serve, textOf, working } from "trivium";
import { sqliteStore } from "trivium/sqlite";

const { STORE = ".trivium/bookings.db" } = process.env;

const server = await serve({
  card: { name: "Berths", description: "Books berths for ships", version: "1.0.0" },
  store: sqliteStore({ path: STORE }),
  handleSignals: true,
  // Runs the turn again if its process dies. `ask` then returns the answers that it already has, without asking twice.
  restartable: true,
  async *agent({ text, cause, ask }) {
    yield working(cause === "restart" ? "looking at the berths again" : "looking at the berths");
    const nights = Number(textOf(await ask(inputRequired("For how many nights?"))));
    const answer = await ask(inputRequired(`Berth N4 costs ${nights * 120} €. Shall I book it for ${text}?`));
    if (textOf(answer) === "yes") yield artifact(`Berth N4 is booked for ${text}, ${nights} nights.`);
    else yield rejected("Nothing is booked.");
  },
});
console.log(`Berths listens at ${server.url}`);
