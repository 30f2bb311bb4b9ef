import type { Listed } from './listed.ts';

/** Commands in the order of `mayfly --help`. */
export const BUILD: Listed[] = [
  {
    name: 'source',
    description: 'Golden VMs',
    verbs: 'list get start stop bake delete prepare unprepare run cat',
    load: async (io) => (await import('../source/commands.ts')).sourceCommand(io),
  },
  {
    name: 'image',
    description: 'Sources of Dockerfiles, and golden images that this machine can build',
    verbs: 'build builds get cancel list pull',
    load: async (io) => (await import('../image/commands.ts')).imageCommand(io),
  },
  {
    name: 'capture',
    description: 'Copies of golden VMs that run, to make sandboxes from',
    verbs: 'create list get delete',
    load: async (io) => (await import('../capture/commands.ts')).captureCommand(io),
  },
  {
    name: 'template',
    description: 'Memories of booted guests, to wake sandboxes from',
    verbs: 'create list get delete',
    load: async (io) => (await import('../template/commands.ts')).templateCommand(io),
  },
  {
    name: 'pool',
    description: 'Pools: sandboxes that are kept ready',
    verbs: 'create list get delete',
    load: async (io) => (await import('../pool/commands.ts')).poolCommand(io),
  },
];
