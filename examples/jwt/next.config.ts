import type { NextConfig } from "next";

export default { serverExternalPackages: ["trivium"] } satisfies NextConfig;
