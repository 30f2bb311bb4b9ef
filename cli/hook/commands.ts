import { type ArgsDef, defineCommand } from 'citty';
import type { Hook } from '../../client/functions/hooks.ts';
import { functionName, NAME } from '../function/input/names.ts';
import { checkArguments, JSON_OPTION } from '../terminal/arguments.ts';
import { connect, findConnection } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';
import { createCommand } from './create.ts';
import { HOOK, hookId, SECRET_FILE } from './hook-args.ts';
import { HOOK_HEADER, hookLines, hookRow } from './hook-text.ts';
import { listenCommand } from './listen.ts';
import { requiredSecret } from './secret-input.ts';

const LIST = {
  name: { ...NAME.name, required: false, description: 'Of this function; of all unless given' },
  ...LIST_OPTION,
} as const satisfies ArgsDef;
const ONE = { ...HOOK, ...JSON_OPTION } as const satisfies ArgsDef;
const SECRETS = {
  ...HOOK,
  ...SECRET_FILE,
  'old-secret-file': { type: 'string', valueHint: 'path', description: 'A file with the secret that is taken as well' },
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly hook create|list|show|listen|set-secret|disable|enable|delete` */
export function hookCommand(io: Io) {
  return defineCommand({
    subCommands: {
      create: createCommand(io),
      list: listCommand(io),
      show: oneCommand(io, 'show', 'Show a hook, without its secrets', (id) => connect(io).hooks.get(id)),
      listen: listenCommand(io),
      'set-secret': setSecretCommand(io),
      disable: oneCommand(io, 'disable', 'Have a hook take no events', (id) => connect(io).hooks.disable(id)),
      enable: oneCommand(io, 'enable', 'Have a hook take events again', (id) => connect(io).hooks.enable(id)),
      delete: deleteCommand(io),
    },
  });
}

function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List hooks, those of a function the oldest first' },
    args: LIST,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, LIST);
      const { hooks, functions } = connect(io);
      const one = args.name === undefined ? null : functionName(args.name);
      await printList(io, args, { header: HOOK_HEADER, row: hookRow }, async () => {
        const { signal } = io;
        const names = one === null ? (await functions.list({ signal })).items.map(({ name }) => name) : [one];
        const lists = [];
        for (const name of names) lists.push(await hooks.list(name, { signal }));
        const unreadable = lists.flatMap((list) => list.unreadable ?? []);
        return { items: lists.flatMap(({ items }) => items), nextCursor: null, unreadable };
      });
      return EXIT.ok;
    },
  });
}

function oneCommand(io: Io, name: string, description: string, act: (id: string) => Promise<Hook>) {
  return defineCommand({
    meta: { name, description },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      tell(io, args, await act(hookId(args.id)));
      return EXIT.ok;
    },
  });
}

function setSecretCommand(io: Io) {
  return defineCommand({
    meta: {
      name: 'set-secret',
      description: 'Give a hook another secret; the old one is taken as well if it is given',
    },
    args: SECRETS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, SECRETS);
      const old = args['old-secret-file'];
      const secrets = [await requiredSecret(io.env, args['secret-file'])];
      if (old !== undefined) secrets.push(await requiredSecret({}, old));
      tell(io, args, await connect(io).hooks.setSecrets(hookId(args.id), secrets, { signal: io.signal }));
      return EXIT.ok;
    },
  });
}

function deleteCommand(io: Io) {
  return defineCommand({
    meta: { name: 'delete', description: 'Delete a hook: what is sent to it is answered with 404 from now on' },
    args: ONE,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ONE);
      const id = hookId(args.id);
      await connect(io).hooks.delete(id, { signal: io.signal });
      if (args.json) io.printJson({ id, deleted: true });
      else io.print(`${id} is deleted`);
      return EXIT.ok;
    },
  });
}

function tell(io: Io, { json }: { json: boolean }, hook: Hook): void {
  if (json) io.printJson(hook);
  else for (const line of hookLines(io, hook, findConnection(io.env).apiUrl)) io.print(line);
}
