/** This framework with no version of the protocol but the newest. */
process.env["BENCH_VERSIONS"] = "1.0";
await import("./ours.ts");
