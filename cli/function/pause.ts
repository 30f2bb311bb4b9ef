import { connect } from '../terminal/connection.ts';
import type { Io } from '../terminal/io.ts';
import { functionName, NAME } from './input/names.ts';
import { stateCommand } from './state-command.ts';

/** `mayfly function pause` */
export function pauseCommand(io: Io) {
  return command(io, 'pause', 'Start no run of a function; its events are accepted all the same');
}

/** `mayfly function resume` */
export function resumeCommand(io: Io) {
  return command(io, 'resume', 'Start the runs of a function again');
}

function command(io: Io, act: 'pause' | 'resume', description: string) {
  return stateCommand(io, {
    act,
    description,
    named: NAME,
    change: (name) => connect(io).functions[act](functionName(name), { signal: io.signal }),
    said: ({ name, state }) => `${name} is ${state}`,
  });
}
