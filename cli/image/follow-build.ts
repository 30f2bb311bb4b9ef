import { setTimeout as sleep } from 'node:timers/promises';
import type { Command, Commands } from '../../client/commands.ts';
import { MayflyApiError } from '../../client/http/api-error.ts';
import type { Image, Images } from '../../client/images.ts';
import { isImageOver } from '../../model/image/image.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

interface Doors {
  images: Images;
  commands: Commands;
}

const LOOK_EVERY_MS = 300;
/** No build has more steps, and each is a command. */
const MOST = 200;

/**
 * Tells of each step when it begins, and what it writes, on standard error.
 * @returns the latest that was heard of the build, when the wait is over first
 */
export async function followBuild(io: Io, doors: Doors, begun: Image, signal: AbortSignal): Promise<Image> {
  let image = begun;
  const told = new Set<string>();
  if (image.cached > 0) io.note(`${image.cached} of ${image.steps.length} steps were done before`);
  try {
    for (;;) {
      await tell(io, doors.commands, image, told, signal);
      if (isImageOver(image.state)) return image;
      io.noteForNow(io.paint('dim', `  ${printable(image.waitingFor ?? image.state)} …`));
      await sleep(LOOK_EVERY_MS, undefined, { signal });
      image = await doors.images.get(image.id, { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return image;
  }
}

async function tell(io: Io, commands: Commands, image: Image, told: Set<string>, signal: AbortSignal): Promise<void> {
  for (const { id, sandboxId } of await commandsOf(commands, image, signal)) {
    if (told.has(id)) continue;
    const step = image.steps[image.cached + told.size];
    told.add(id);
    const line = step?.line ? `line ${step.line}: ` : '';
    io.note(`[${image.cached + told.size}/${image.steps.length}] ${line}${printable(step?.text ?? '')}`);
    for await (const piece of commands.follow(sandboxId, id, { signal })) {
      if ('bytes' in piece) await io.write('stderr', piece.bytes);
    }
  }
}

/** The oldest first; none while there is no sandbox yet, or it was not needed. */
async function commandsOf(commands: Commands, { builderId }: Image, signal: AbortSignal): Promise<Command[]> {
  try {
    return (await commands.list(builderId, { limit: MOST, signal })).items.toReversed();
  } catch (error) {
    if (error instanceof MayflyApiError && error.code === 'sandbox_not_found') return [];
    throw error;
  }
}
