import { type ArgsDef, defineCommand } from 'citty';
import { SANDBOX_STATES, type SandboxRecord } from '../../model/sandbox/sandbox.ts';
import { checkArguments } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { LIST_OPTION, printList } from '../terminal/list.ts';

const ARGS = {
  all: { type: 'boolean', alias: 'a', description: 'Those that have ended too', default: false },
  state: { type: 'enum', options: [...SANDBOX_STATES], description: 'Only those in this state' },
  ...LIST_OPTION,
} as const satisfies ArgsDef;

const HEADER = ['ID', 'NAME', 'STATE', 'SOURCE', 'HOST', 'ADDRESS', 'EGRESS', 'CREATED'];

function row({ id, name, state, phase, spec, hostId, ssh, createdAt }: SandboxRecord): string[] {
  const doing = phase ? `${state} (${phase})` : state;
  return [id, name ?? '-', doing, spec.source, hostId ?? '-', ssh?.address ?? '-', spec.network.egress, createdAt];
}

/** `mayfly sandbox list`: newest first, all pages; those that live, unless told otherwise. */
export function listCommand(io: Io) {
  return defineCommand({
    meta: { name: 'list', description: 'List the sandboxes that live, newest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const client = connect(io);
      const state = SANDBOX_STATES.find((known) => known === args.state);
      const which = state ? { state } : !args.all && { alive: true as const };
      await printList(io, args, { header: HEADER, row }, (page) => client.listSandboxes({ ...page, ...which }));
      return EXIT.ok;
    },
  });
}
