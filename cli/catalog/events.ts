import type { Listed } from './listed.ts';

/** Commands in the order of `mayfly --help`. */
export const EVENTS: Listed[] = [
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
