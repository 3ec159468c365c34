export * from "../../src/testing/contract/fixtures.js";
