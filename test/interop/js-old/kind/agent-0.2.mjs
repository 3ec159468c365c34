import { A2AExpressApp, DefaultRequestHandler, InMemoryTaskStore } from "sdk-0.2/server";
import { Script } from "./script.mjs";

export function mount(app, base, { security }) {
  const handler = new DefaultRequestHandler({ ...cardOf(base), ...security }, new InMemoryTaskStore(), new Script());
  new A2AExpressApp(handler).setupRoutes(app);
}

function cardOf(base) {
  return {
    name: "JavaScript",
    description: "Plays the script that the first text names",
    version: "1.2.3",
    url: `${base}/`,
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "script", name: "Script", description: "Plays a script", tags: ["test"] }],
  };
}
