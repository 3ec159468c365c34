import { Command } from "commander";
import { addCall } from "./call.js";
import { addCard } from "./card.js";
import { addDb } from "./db.js";
import { addDemo } from "./demo.js";
import { addDoctor } from "./doctor.js";
import { addGateway } from "./gateway.js";
import { addLogout } from "./logout.js";
import { packageVersion } from "./package-version.js";
import { addSend } from "./send.js";
import { addServe } from "./serve.js";

/** Creates `trivium` with all its commands. */
export function createProgram(): Command {
  const program = new Command("trivium")
    .description("Agents on the A2A (Agent2Agent) protocol.")
    .version(packageVersion())
    .showHelpAfterError()
    .exitOverride();
  for (const add of [addServe, addDemo, addSend, addCall, addCard, addGateway, addLogout, addDb, addDoctor])
    add(program);
  return program;
}
