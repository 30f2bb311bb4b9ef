import type { SubCommandsDef } from 'citty';
import type { Io } from '../terminal/io.ts';

/** A command as `mayfly --help` shows it, which loads none. */
export interface Listed {
  name: string;
  description: string;
  /** Imports its module. */
  load: (io: Io) => Extract<SubCommandsDef[string], Promise<unknown>>;
  /** Names of the same command, such as those of docker and kubectl. */
  aliases?: string[];
  /** Names of the commands below it, between spaces. `@default` none */
  verbs?: string;
}

/** Names below a command. */
export function getVerbs({ verbs = '' }: Pick<Listed, 'verbs'>): string[] {
  return verbs.split(' ').filter((verb) => verb !== '');
}
