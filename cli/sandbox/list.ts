import type { Sandbox } from '../../clients/typescript/http/openapi.ts';
import { SANDBOX_STATES } from '../../model/sandbox/sandbox-state.ts';
import { pagedCommand } from '../terminal/command.ts';

const HEADER = ['ID', 'NAME', 'STATE', 'SOURCE', 'HOST', 'ADDRESS', 'EGRESS', 'CREATED'];

function row({ id, name, state, phase, spec, hostId, ssh, createdAt }: Sandbox): string[] {
  const doing = phase ? `${state} (${phase})` : state;
  return [id, name ?? '-', doing, spec.source, hostId ?? '-', ssh?.address ?? '-', spec.network.egress, createdAt];
}

/** `mayfly sandbox list`: newest first, all pages; those that live, unless told otherwise. */
export const listCommand = pagedCommand({
  description: 'List the sandboxes that live, newest first',
  args: {
    all: { type: 'boolean', alias: 'a', description: 'Those that have ended too', default: false },
    state: { type: 'enum', options: [...SANDBOX_STATES], description: 'Only those in this state' },
  },
  table: { header: HEADER, row },
  read({ args, connect }) {
    const state = SANDBOX_STATES.find((known) => known === args.state);
    const which = state ? { state } : !args.all && { alive: true as const };
    return (page) => connect().listSandboxes({ ...page, ...which });
  },
});
