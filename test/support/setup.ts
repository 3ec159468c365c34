import { afterAll } from "vitest";
import { endLeft } from "./owned.js";

// What every file of tests ends with.

afterAll(endLeft);
