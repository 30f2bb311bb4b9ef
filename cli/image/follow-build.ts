import type { Command, Image } from '../../clients/typescript/http/openapi.ts';
import { MayflyApiError } from '../../clients/typescript/http/problem.ts';
import type { Images } from '../../clients/typescript/images.ts';
import type { Commands } from '../../clients/typescript/sandbox/commands.ts';
import { isImageFinal } from '../../model/image/image.ts';
import { followRecord, type Io, printable } from '../terminal/io.ts';

interface Clients {
  images: Images;
  commands: Commands;
}

/** Prints each step when it starts, and its output, on standard error. @returns as {@link awaitBuildEnd} */
export async function followBuild(io: Io, doors: Clients, begun: Image, signal: AbortSignal): Promise<Image> {
  const told = new Set<string>();
  if (begun.cached > 0) io.note(`${begun.cached} of ${begun.steps.length} steps were done before`);
  return awaitBuildEnd(io, doors.images, begun, signal, (image) => printSteps(io, doors.commands, image, told, signal));
}

/**
 * @param look called with each new state
 * @returns the latest state of the build when the wait ends first
 */
export async function awaitBuildEnd(
  io: Io,
  images: Images,
  begun: Image,
  signal: AbortSignal,
  look: (image: Image) => Promise<void> = async () => {},
): Promise<Image> {
  return followRecord(begun, {
    async show(image) {
      await look(image);
      if (!isImageFinal(image.state))
        io.noteForNow(io.paint('dim', `  ${printable(image.waitingFor ?? image.state)} …`));
    },
    isOver: ({ state }) => isImageFinal(state),
    read: ({ id }) => images.get(id, { signal }),
    signal,
  });
}

async function printSteps(
  io: Io,
  commands: Commands,
  image: Image,
  told: Set<string>,
  signal: AbortSignal,
): Promise<void> {
  const { steps, ready } = image;
  for (const [index, { line, text, command }] of [...steps, ...(ready ? [{ ...ready, line: null }] : [])].entries()) {
    if (!command || told.has(command.id)) continue;
    if (!(await isStarted(commands, command, signal))) return;
    told.add(command.id);
    const place = index < steps.length ? `[${index + 1}/${steps.length}] ` : '';
    io.note(`${place}${line ? `line ${line}: ` : ''}${printable(text)}`);
    for await (const piece of commands.follow(command.sandboxId, command.id, { signal })) {
      if ('bytes' in piece) await io.write('stderr', piece.bytes);
    }
  }
}

/** @returns false while the step has no sandbox, or is queued */
async function isStarted(
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

/** Formats a build for a person; a failed one with the end of its step's output. @param told one line per step */
export function builtLines(io: Io, image: Image, told: readonly string[] = []): string[] {
  const { id, name, state, cached, done, steps, snapshotId, settings, unusedArgs, ignored, failure } = image;
  const program = [...(settings.entrypoint ?? []), ...(settings.cmd ?? [])];
  const fields: [string, string | null][] = [
    ['state', state],
    ['source', state === 'ready' ? name : null],
    ['steps', `${done} of ${steps.length}, ${cached} of them done before`],
    ['snapshot', snapshotId],
    ['program', program.length > 0 ? JSON.stringify(program) : null],
    ['unused', unusedArgs.length > 0 ? `${unusedArgs.join(', ')}: no ARG asks for it` : null],
    ...ignored.map(({ line, text }): [string, string] => ['ignored', `line ${line}: ${text}`]),
    ['failure', failure?.message ?? null],
  ];
  const shown = fields.flatMap(([field, value]) => (value ? [`  ${field.padEnd(10)}${printable(value)}`] : []));
  const log = failure?.log
    ? failure.log
        .trimEnd()
        .split('\n')
        .map((line) => `    ${printable(line)}`)
    : [];
  return [io.paint('bold', id), ...told, ...shown, ...log];
}

/** Lists the steps with their state and line of the Dockerfile. */
export function stepLines(image: Image): string[] {
  return image.steps.map(({ line, text }, index) => {
    const place = line === null ? '' : `line ${line}: `;
    return `  ${stepState(image, index).padEnd(10)}${printable(`${place}${text}`)}`;
  });
}

function stepState({ state, steps, done, failure }: Image, index: number): string {
  if (index < done) return steps[index]?.command ? 'done' : 'cached';
  if (index > done) return '-';
  if (state === 'building') return 'running';
  return failure && failure.line !== null && failure.line === steps[index]?.line ? 'failed' : '-';
}
