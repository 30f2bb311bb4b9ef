import type { ArgsDef, CommandDef } from 'citty';
import { getArgs, subCommandsOf } from './catalog/leaf.ts';
import { customCommand } from './terminal/command.ts';
import type { Io } from './terminal/io.ts';

const ARGS = {
  shell: { type: 'enum', options: ['bash', 'zsh'], description: 'Whose script', default: 'bash' },
} as const satisfies ArgsDef;

/** `mayfly completion`: prints a script that completes commands and options, generated from the commands. */
export const completionOf = (createCommands: (io: Io) => CommandDef) =>
  customCommand({
    args: ARGS,
    async run({ io, args }) {
      // zsh runs bash's completions: compinit(1), bashcompinit.
      if (args.shell === 'zsh') io.print('autoload -U +X compinit bashcompinit && compinit && bashcompinit');
      io.print(script(await wordsBelow(createCommands(io), [])));
    },
  });

interface Words {
  path: string[];
  words: string[];
}

/** Lists possible next words, of a command and all below it. */
async function wordsBelow(command: CommandDef, path: string[]): Promise<Words[]> {
  const below = await subCommandsOf(command);
  const args = await getArgs(command);
  const options = Object.entries(args).flatMap(([name, { type }]) => (type === 'positional' ? [] : [`--${name}`]));
  const own = { path, words: [...below.map(([name]) => name), ...options, '--help'] };
  const inner = await Promise.all(below.map(([name, sub]) => wordsBelow(sub, [...path, name])));
  return [own, ...inner.flat()];
}

/**
 * Generates the script. Words of commands before the cursor choose the list; after the last one it completes options,
 * else files.
 */
function script(all: Words[]): string {
  const cases = all.map(({ path, words }) => `    '${path.join(' ')}') words='${words.join(' ')}' ;;`);
  return `_mayfly() {
  local path= words= word n
  _mayfly_words ''
  for ((n = 1; n < COMP_CWORD; n++)); do
    word="\${COMP_WORDS[n]}"
    case "$word" in -*) continue ;; esac
    case " $words " in *" $word "*) ;; *) continue ;; esac
    path="\${path:+$path }$word"
    _mayfly_words "$path"
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
_mayfly_words() {
  case "$1" in
${cases.join('\n')}
  esac
}
complete -o default -F _mayfly mayfly`;
}
