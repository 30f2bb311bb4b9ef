import './plain-stacks.ts';
import { isBootedSaved } from '../host/libvirt/booted-golden.ts';
import { startMachine } from '../host/libvirt/machine.ts';

/** Saves a booted guest in the cache before the tests of virtual machines, none of which then needs a boot. */
export default async function setup(): Promise<void> {
  if (await isBootedSaved()) return;
  const machine = await startMachine();
  try {
    await machine.booted.place();
  } finally {
    await machine.end();
  }
}
