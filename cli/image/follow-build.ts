import { MayflyApiError } from '../../clients/typescript/http/api-error.ts';
import type { Command, Image } from '../../clients/typescript/http/openapi.ts';
import type { Images } from '../../clients/typescript/images.ts';
import type { Commands } from '../../clients/typescript/sandbox/commands.ts';
import { isImageOver } from '../../model/image/image.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';
import { followRecord } from '../terminal/progress.ts';

interface Doors {
  images: Images;
  commands: Commands;
}

/**
 * Tells of each step when it begins, and what it writes, on standard error.
 * @returns as {@link untilOver}
 */
export async function followBuild(io: Io, doors: Doors, begun: Image, signal: AbortSignal): Promise<Image> {
  const told = new Set<string>();
  if (begun.cached > 0) io.note(`${begun.cached} of ${begun.steps.length} steps were done before`);
  return untilOver(io, doors.images, begun, signal, (image) => tell(io, doors.commands, image, told, signal));
}

/**
 * @param look called with each state that is heard of
 * @returns the latest that was heard of the build, when the wait is over first
 */
export async function untilOver(
  io: Io,
  images: Images,
  begun: Image,
  signal: AbortSignal,
  look: (image: Image) => Promise<void> = async () => {},
): Promise<Image> {
  return followRecord(begun, {
    async show(image) {
      await look(image);
      if (!isImageOver(image.state))
        io.noteForNow(io.paint('dim', `  ${printable(image.waitingFor ?? image.state)} …`));
    },
    isOver: ({ state }) => isImageOver(state),
    read: ({ id }) => images.get(id, { signal }),
    signal,
  });
}

async function tell(io: Io, commands: Commands, image: Image, told: Set<string>, signal: AbortSignal): Promise<void> {
  const { steps, ready } = image;
  for (const [index, { line, text, command }] of [...steps, ...(ready ? [{ ...ready, line: null }] : [])].entries()) {
    if (!command || told.has(command.id)) continue;
    if (!(await hasBegun(commands, command, signal))) return;
    told.add(command.id);
    const place = index < steps.length ? `[${index + 1}/${steps.length}] ` : '';
    io.note(`${place}${line ? `line ${line}: ` : ''}${printable(text)}`);
    for await (const piece of commands.follow(command.sandboxId, command.id, { signal })) {
      if ('bytes' in piece) await io.write('stderr', piece.bytes);
    }
  }
}

/** Not while there is no sandbox for it, or it is not its turn. */
async function hasBegun(
  commands: Commands,
  { sandboxId, id }: Pick<Command, 'sandboxId' | 'id'>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await commands.get(sandboxId, id, { signal });
    return true;
  } catch (error) {
    if (error instanceof MayflyApiError && ['sandbox_not_found', 'command_not_found'].includes(error.code))
      return false;
    throw error;
  }
}
