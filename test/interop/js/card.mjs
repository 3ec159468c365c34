/** The card of the agent, as JSON. */
export function cardOf(base, rpcPort) {
  const at = (protocolBinding, url) => ({ protocolBinding, url, protocolVersion: "1.0" });
  return {
    name: "JavaScript",
    description: "Plays the script that the first text names",
    version: "1.2.3",
    supportedInterfaces: [
      at("JSONRPC", `${base}/rpc`),
      at("HTTP+JSON", `${base}/rest`),
      at("GRPC", `127.0.0.1:${rpcPort}`),
    ],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "script", name: "Script", description: "Plays a script", tags: ["test"] }],
  };
}
