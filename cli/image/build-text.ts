import type { Image } from '../../clients/typescript/http/openapi.ts';
import type { Io } from '../terminal/io.ts';
import { printable } from '../terminal/printable.ts';

/**
 * A build as a person reads it; of one that failed, the end of what its step wrote.
 * @param told lines that tell of each step
 */
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

/** Each step and what became of it, with its line of the Dockerfile. */
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
