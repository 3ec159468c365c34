// In an app this file is app/agents/desk/[[...path]]/route.ts.
import { nextRoute } from "trivium/next";
import { createDesk } from "./agent.ts";

export const { GET, POST, DELETE, HEAD, OPTIONS } = nextRoute(createDesk);
