import type { Process } from "./process.js";
import type { Random } from "./random.js";
import type { World } from "./world.js";

/** Kills, stalls, shuts down and disconnects processes, as the weather says, until the world becomes calm. */
export async function storm(world: World, random: Random): Promise<void> {
  const { crashes, pauses, outages, leaves, away, steps } = world.weather;
  const strokes = [
    crashes && crash,
    pauses && pause,
    outages && outage,
    leaves && leave,
    away && absence,
    steps && step,
  ].filter((each) => each !== false);
  const [first, ...rest] = strokes;
  if (first === undefined) return;
  for (;;) {
    await world.sleep(random.int(50, 4000));
    if (world.calm) return;
    await random.pick([first, ...rest])(world, random);
  }
}

type Stroke = (world: World, random: Random) => Promise<void> | undefined;

const crash: Stroke = async (world, random) => {
  world.kill(world.anyProcess(random));
  await world.sleep(random.int(0, 3000));
  if (!world.calm) world.start();
};

const leave: Stroke = (world, random) => {
  void world.leave(world.anyProcess(random));
  return undefined;
};

const pause: Stroke = (world, random) => {
  const process = world.anyProcess(random);
  world.trace(() => `${process.name} stands still`);
  process.pause();
  world.time.after(random.int(10, 9000), () => {
    world.trace(() => `${process.name} goes on`);
    process.resume();
  });
  return undefined;
};

const outage: Stroke = (world, random) => {
  const process = world.anyProcess(random);
  world.cut(process, true);
  world.time.after(random.int(100, 7000), () => world.cut(process, false));
  return undefined;
};

// For longer than a lease lasts, and for less than two leases do.
const absence: Stroke = (world, random) => world.cutAll(random.int(4500, 6000), random);

const step: Stroke = (world, random) => {
  const set = random.pick<World | Process>([world, world.anyProcess(random)]);
  const ms = random.pick([-600_000, -8000, -3000, 3000, 8000, 600_000]);
  world.trace(() => `the clock of ${set === world ? "the store" : "a process"} is set by ${ms} ms`);
  set.setMs += ms;
  return undefined;
};
