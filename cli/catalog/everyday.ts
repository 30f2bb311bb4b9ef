import type { CatalogEntry } from './listed.ts';

/** Commands in the order of `mayfly --help`. */
export const EVERYDAY: CatalogEntry[] = [
  {
    name: 'sandbox',
    description: 'Sandboxes: create, look at, extend and destroy them',
    verbs: 'create list get wait update delete',
    load: async (io) => (await import('../sandbox/commands.ts')).sandboxCommand(io),
  },
  {
    name: 'ls',
    aliases: ['ps'],
    description: 'List the sandboxes that live, newest first',
    load: async (io) => (await import('../sandbox/commands.ts')).listCommand(io),
  },
  {
    name: 'rm',
    description: 'End sandboxes and wait for the proof that nothing is left',
    load: async (io) => (await import('../sandbox/commands.ts')).destroyCommand(io),
  },
  {
    name: 'run',
    aliases: ['exec'],
    description: 'Run a command in a sandbox: mayfly run sbx-… -- program arguments',
    load: async (io) => (await import('../command/run.ts')).runCommand(io),
  },
  {
    name: 'logs',
    description: 'Print what a command in a sandbox has written (`mayfly run --detach` starts one)',
    load: async (io) => (await import('../command/commands.ts')).logsCommand(io),
  },
  {
    name: 'cp',
    description: 'Copy files into a sandbox and out of it: mayfly cp FILE sbx-…:/tmp/',
    load: async (io) => (await import('../copy/cp.ts')).cpCommand(io),
  },
  {
    name: 'ssh',
    description: 'Log in to a sandbox: mayfly ssh sbx-… [-- command]',
    load: async (io) => (await import('../ssh/ssh.ts')).sshCommand(io),
  },
  {
    name: 'command',
    description: 'Commands in a sandbox (`mayfly run` starts one)',
    verbs: 'list get output cancel',
    load: async (io) => (await import('../command/commands.ts')).commandCommands(io),
  },
  {
    name: 'port',
    description: 'Ports of sandboxes',
    verbs: 'forward open list token close',
    load: async (io) => (await import('../port/open-port.ts')).portCommand(io),
  },
  {
    name: 'desktop',
    description: 'Screens of sandboxes made of desktop-debian12',
    verbs: 'screenshot windows open click move drag scroll type key stream',
    load: async (io) => (await import('../desktop/commands.ts')).desktopCommand(io),
  },
  {
    name: 'pause',
    description: 'Stop the processors of a sandbox; its memory is kept',
    load: async (io) => (await import('../sandbox/pause.ts')).pauseCommand(io),
  },
  {
    name: 'hibernate',
    description: "Put a sandbox's memory on its host's disk, and give its room in memory back",
    load: async (io) => (await import('../sandbox/pause.ts')).hibernateCommand(io),
  },
  {
    name: 'resume',
    description: 'Let a paused or hibernated sandbox go on',
    load: async (io) => (await import('../sandbox/pause.ts')).resumeCommand(io),
  },
  {
    name: 'snapshot',
    description: 'What the disks of sandboxes held at one moment',
    verbs: 'create list get delete',
    load: async (io) => (await import('../snapshot/commands.ts')).snapshotCommand(io),
  },
  {
    name: 'restore',
    description: 'Take a sandbox back to one of its snapshots; commands that run are ended',
    load: async (io) => (await import('../snapshot/fork.ts')).restoreCommand(io),
  },
  {
    name: 'fork',
    description: 'Make sandboxes of a snapshot, each with an identity of its own',
    load: async (io) => (await import('../snapshot/fork.ts')).forkCommand(io),
  },
  {
    name: 'diff',
    description: 'What changed between two snapshots, or since one: mayfly diff snp-… current',
    load: async (io) => (await import('../diff/command.ts')).diffCommand(io),
  },
  {
    name: 'playbook',
    description: 'Write what changed in a sandbox as an Ansible playbook, and check it',
    load: async (io) => (await import('../playbook/command.ts')).playbookCommand(io),
  },
  {
    name: 'top',
    description: 'Watch sandboxes, sagas, pools and residue',
    load: async (io) => (await import('../top/command.ts')).topCommand(io),
  },
];

/** Commands in the order of `mayfly --help`. */
export const EVENTS: CatalogEntry[] = [
  {
    name: 'function',
    description: 'Functions: programs that run once for each event, in a sandbox of its own',
    verbs:
      'init deploy list get invoke trigger batch runs run logs result diff open replay redrive cancel pause resume activate delete',
    load: async (io) => (await import('../function/commands.ts')).functionCommand(io),
  },
  {
    name: 'dev',
    description: 'Deploy a folder as a function and run it, again whenever the folder changes',
    load: async (io) => (await import('../function/dev.ts')).devCommand(io),
  },
  {
    name: 'hook',
    description: 'Hooks: ways in for signed events from outside',
    verbs: 'create list get listen set-secret disable enable delete',
    load: async (io) => (await import('../hook/commands.ts')).hookCommand(io),
  },
  {
    name: 'trigger',
    description: 'Sign a sample of an event as its sender does, and send it to a hook',
    load: async (io) => (await import('../hook/trigger.ts')).triggerCommand(io),
  },
  {
    name: 'waitpoint',
    description: 'Waitpoints: where the process of a run waits for data from outside',
    verbs: 'create list complete',
    load: async (io) => (await import('../waitpoint/commands.ts')).waitpointCommand(io),
  },
  {
    name: 'secret',
    description: 'Secrets of functions: they can be put, and never be read again',
    verbs: 'create list get delete',
    load: async (io) => (await import('../secret/commands.ts')).secretCommand(io),
  },
  {
    name: 'webhook',
    description: 'Webhooks: events of the project are sent to a URL',
    verbs: 'create list get enable rotate delete deliveries redeliver recover',
    load: async (io) => (await import('../webhook/commands.ts')).webhookCommand(io),
  },
  {
    name: 'schedule',
    description: 'Schedules: times at which functions run',
    verbs: 'create list get next times missed pause resume trigger backfill delete',
    load: async (io) => (await import('../schedule/commands.ts')).scheduleCommand(io),
  },
  {
    name: 'receipt',
    description: 'Signed statements about runs',
    verbs: 'get verify keys rotate',
    load: async (io) => (await import('../receipt/commands.ts')).receiptCommand(io),
  },
];

/** Commands in the order of `mayfly --help`. */
export const BUILD: CatalogEntry[] = [
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
