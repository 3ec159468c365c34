import { A2AApplication, DefaultA2ARequestHandler, InMemoryTaskStore } from "a2a-js";
import { Script } from "./script.mjs";

export function mount(app, base, { security }) {
  const store = new InMemoryTaskStore();
  app.use(
    new A2AApplication(
      { ...cardOf(base), ...security },
      new DefaultA2ARequestHandler(new Script(store), store),
    ).build(),
  );
}

function cardOf(base) {
  return {
    name: "JavaScript",
    description: "Plays the script that the first text names",
    version: "1.2.3",
    url: `${base}/`,
    // Its request handler refuses whatever has to do with push.
    capabilities: { streaming: true, pushNotifications: false },
    authentication: { schemes: [] },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "script", name: "Script", description: "Plays a script", tags: ["test"] }],
  };
}
