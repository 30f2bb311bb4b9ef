import { errorTable, notFound } from './entry.ts';

export const COMMAND_ERRORS = errorTable({
  command_not_found: notFound('command', 'GET /v1/sandboxes/{id}/commands'),
  command_ended: {
    status: 409,
    title: 'The command has ended',
    remedy: 'Start another.',
  },
  command_refused: {
    status: 422,
    title: 'The guest cannot start that command',
    remedy: 'Mend what `detail` names: a user or a working directory that the guest does not have.',
  },
  program_not_found: {
    status: 422,
    title: 'The guest has no such program',
    remedy: 'Install it, or give the path of one that is there.',
  },
  program_not_executable: {
    status: 422,
    title: 'The guest cannot run that program',
    remedy: 'Mend what `detail` names: its permissions, or what it is.',
  },
  stdin_conflict: {
    status: 409,
    title: 'Standard input is not at that offset, or is closed',
    remedy: 'Go on from the offset in `detail`.',
  },
});
