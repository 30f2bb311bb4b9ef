import type { Secret } from '../../clients/typescript/http/openapi.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { printable } from '../terminal/printable.ts';
import { NAME, secretName, setCommand } from './set.ts';

const HEADER = ['NAME', 'VERSION', 'MASKED', 'CHANGED'];

function row({ name, version, isMasked, updatedAt }: Secret): string[] {
  return [name, String(version), isMasked ? 'yes' : 'no', updatedAt];
}

/** `mayfly secret create|list|get|delete` */
export const secretCommand = nounCommand(
  {
    create: setCommand,
    list: pagedCommand({
      description: 'List secrets by name, without what they are',
      table: { header: HEADER, row },
      read: ({ connect, options }) => connect().secrets.list(options),
    }),
    /** Its versions, and which runs were given which. */
    get: command({
      description: 'Show the versions of a secret, and which runs used which',
      args: NAME,
      call: ({ args, connect, options }) => connect().secrets.get(secretName(args.name), options),
      print(io, found) {
        io.print(`${printable(found.name)} version ${found.version}`);
        for (const warning of found.warnings) io.note(printable(warning));
        for (const { version, createdAt, createdBy } of found.versions) {
          io.print(`version ${version}  ${printable(createdAt)}  by ${printable(createdBy.apiKeyId)}`);
        }
        for (const { version, runId, attempt, at } of found.uses) {
          io.print(`used ${version}  ${printable(at)}  ${printable(runId)} attempt ${attempt}`);
        }
      },
    }),
    delete: command({
      description: 'Delete a secret: runs whose function names it are not started any more',
      args: NAME,
      async call({ args, connect, options }) {
        const name = secretName(args.name);
        await connect().secrets.delete(name, options);
        return { name, state: 'deleted' };
      },
      print: (_io, { name }) => `${name} is deleted`,
    }),
  },
  { create: ['set', 'update'] },
);
