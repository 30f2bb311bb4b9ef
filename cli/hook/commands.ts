import { setTimeout as pause } from 'node:timers/promises';
import type { ArgsDef } from 'citty';
import type { Hook, Run } from '../../clients/typescript/http/openapi.ts';
import type { List } from '../../clients/typescript/http/resource.ts';
import { functionName, NAME } from '../function/input/names.ts';
import { JSON_OPTION, option } from '../terminal/arguments.ts';
import { command, customCommand, nounCommand, pagedCommand } from '../terminal/command.ts';
import { findConnection } from '../terminal/connection.ts';
import { type Io, printable } from '../terminal/io.ts';
import { LIST_OPTION } from '../terminal/list.ts';
import { createCommand, HOOK, HOOK_HEADER, hookId, hookLines, hookRow, requiredSecret, SECRET_FILE } from './create.ts';

/** Maximum number of runs per poll; more in a second are not shown. */
const SEEN = 100;
const BETWEEN_MS = 1_000;

/** `mayfly hook listen`: runs until Ctrl-C. A refused event becomes no run: the API's log has the reason. */
export const listenCommand = customCommand({
  description: "Show what comes in for a hook's function, as it comes and as it ends",
  args: { ...HOOK, ...LIST_OPTION },
  async run({ io, args, connect }) {
    const { hooks, runs } = connect();
    const { signal } = io;
    const hook = await hooks.get(hookId(args.id), { signal });
    const query = { function: hook.function, limit: SEEN, signal };
    const shown = new Map((await runs.list(query)).items.map(({ id, state }) => [id, state === 'ended']));
    io.note(`Listening for events of ${hook.function}. Ctrl-C ends it.`);
    for (;;) {
      for (const run of (await runs.list(query)).items.reverse()) {
        const hasEnded = run.state === 'ended';
        if (shown.get(run.id) === hasEnded) continue;
        shown.set(run.id, hasEnded);
        if (args.json) io.printJson(run);
        else io.print(line(run));
      }
      await pause(BETWEEN_MS, undefined, { signal });
    }
  },
});

function line({ id, event, acceptedAt, endedAt, state, outcome }: Run): string {
  return printable(`${endedAt ?? acceptedAt}  ${id}  ${event.type}  ${event.id}  ${outcome ?? state}`);
}

const ONE = { ...HOOK, ...JSON_OPTION } as const satisfies ArgsDef;

function oneCommand(act: 'get' | 'disable' | 'enable', description: string) {
  return command({
    description,
    args: HOOK,
    call: ({ args, connect, options }) => connect().hooks[act](hookId(args.id), options),
    print: printHook,
  });
}

const setSecretCommand = command({
  description: 'Give a hook another secret; the old one is taken as well if it is given',
  args: {
    ...HOOK,
    ...SECRET_FILE,
    'old-secret-file': option('A file with the secret that is taken as well', 'path'),
  },
  async call({ io, args, connect, options }) {
    const old = args['old-secret-file'];
    const secrets = [await requiredSecret(io.env, args['secret-file'])];
    if (old !== undefined) secrets.push(await requiredSecret({}, old));
    return connect().hooks.setSecrets(hookId(args.id), secrets, options);
  },
  print: printHook,
});

function printHook(io: Io, hook: Hook): string[] {
  return hookLines(io, hook, findConnection(io.env).apiUrl);
}

export const hookCommand = nounCommand({
  create: createCommand,
  list: pagedCommand({
    description: 'List hooks, those of a function the oldest first',
    args: {
      name: { ...NAME.name, required: false, description: 'Of this function; of all unless given' },
    },
    table: { header: HOOK_HEADER, row: hookRow },
    async read({ io, args, connect }) {
      const one = args.name === undefined ? null : functionName(args.name);
      const { signal } = io;
      const names = one === null ? (await connect().functions.list({ signal })).items.map(({ name }) => name) : [one];
      const lists: List<Hook>[] = [];
      for (const name of names) lists.push(await connect().hooks.list({ function: name, signal }));
      const unreadable = lists.flatMap((list) => list.unreadable ?? []);
      return async () => ({ items: lists.flatMap(({ items }) => items), unreadable });
    },
  }),
  get: oneCommand('get', 'Show a hook, without its secrets'),
  listen: listenCommand,
  'set-secret': setSecretCommand,
  disable: oneCommand('disable', 'Have a hook take no events'),
  enable: oneCommand('enable', 'Have a hook take events again'),
  delete: command({
    description: 'Delete a hook: what is sent to it is answered with 404 from now on',
    args: ONE,
    async call({ args, connect, options }) {
      const id = hookId(args.id);
      await connect().hooks.delete(id, options);
      return { id, deleted: true };
    },
    print: (_io, { id }) => `${id} is deleted`,
  }),
});
