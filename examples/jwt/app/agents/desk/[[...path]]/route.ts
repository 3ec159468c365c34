import { nextRoute } from "trivium/next";
import { createDesk } from "../../../../agent.ts";

export const { GET, POST, DELETE, HEAD, OPTIONS } = nextRoute(createDesk);
