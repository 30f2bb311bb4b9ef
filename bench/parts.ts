import { measureCommands } from './commands.ts';
import { measureCreates } from './creates.ts';
import { measureDirect } from './direct.ts';
import { measureDoors } from './doors.ts';
import { measureFunctions } from './functions.ts';
import { measureIdle } from './idle.ts';
import { measureImages } from './images.ts';
import { measurePools } from './pools.ts';
import { measurePorts } from './ports.ts';
import { measureQueue } from './queue.ts';
import { measureRequests } from './requests.ts';
import { measureSnapshots } from './snapshots.ts';
import type { Bench, Extent } from './support/bench.ts';
import type { Figures } from './support/measure.ts';

interface Part<T> {
  name: string;
  measure: (on: T) => Promise<Figures>;
  /** Left out on a simulated host, which copies. */
  isOfLibvirt?: true;
}

/** Parts that run before the installation starts, on its folder. */
export const PARTS_ALONE: readonly Part<Extent>[] = [
  { name: 'direct', measure: measureDirect },
  { name: 'idle', measure: measureIdle },
];

/** Parts that measure one installation, in this order. */
export const PARTS: readonly Part<Bench>[] = [
  { name: 'creates', measure: measureCreates },
  { name: 'doors', measure: measureDoors },
  { name: 'ports', measure: measurePorts },
  { name: 'images', measure: measureImages },
  { name: 'pools', measure: measurePools },
  { name: 'commands', measure: measureCommands },
  { name: 'snapshots', measure: measureSnapshots, isOfLibvirt: true },
  { name: 'functions', measure: measureFunctions },
  { name: 'requests', measure: measureRequests },
  { name: 'queue', measure: measureQueue },
];
