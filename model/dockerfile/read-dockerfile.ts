import { LIMITS } from '../limits.ts';
import { type Instruction, instructionsOf } from './instructions.ts';
import { argValues } from './named-values.ts';
import { type BuildPlan, NO_SETTINGS, type Origin, type Settings, type Stage } from './plan.ts';
import { refusedAt } from './refusal.ts';
import { StageReader } from './stage-reader.ts';
import { expanded, splitWords, type Variables } from './words.ts';

export interface Wish {
  dockerfile: string;
  args: Variables;
  /** A stage, by name or place; null: the last. */
  target: string | null;
  /** What a name behind FROM stands for: `debian:12` for `golden-debian12`. */
  aliases: Readonly<Record<string, string>>;
}

/**
 * Reads a Dockerfile as Docker means it, all of it, before anything of it is done.
 * @throws MayflyError dockerfile_unsupported with the line
 */
export function readDockerfile(wish: Wish): BuildPlan {
  return new Reader(wish).plan();
}

class Reader {
  readonly #stages: StageReader[] = [];
  readonly #names = new Map<string, number>();
  readonly #globalArgs: Record<string, string> = {};
  readonly #asked = new Set<string>();

  constructor(private readonly wish: Wish) {}

  plan(): BuildPlan {
    for (const instruction of instructionsOf(this.wish.dockerfile)) this.#read(instruction);
    const last = this.#stages.length - 1;
    if (last < 0) throw refusedAt(1, 'there is no FROM');
    const { target, args } = this.wish;
    const wanted = target === null ? last : this.#stageOf(target);
    if (wanted === null) throw refusedAt(1, `there is no stage ${JSON.stringify(target)}`);
    const stages = needed(
      this.#stages.map(({ end }) => end),
      wanted,
    );
    const steps = stages.flatMap((stage) => stage.steps);
    const beyond = steps[LIMITS.image.steps];
    if (beyond) throw refusedAt(beyond.line, `there are more than ${LIMITS.image.steps} steps`);
    return { stages, unusedArgs: Object.keys(args).filter((name) => !this.#asked.has(name)) };
  }

  #read(instruction: Instruction): void {
    const stage = this.#stages.at(-1);
    if (instruction.keyword === 'FROM') this.#from(instruction);
    else if (stage) stage.read(instruction);
    else this.#readFirst(instruction);
  }

  /** Before the first FROM. */
  #readFirst(instruction: Instruction): void {
    if (instruction.keyword !== 'ARG') {
      throw refusedAt(instruction.line, `${instruction.keyword} stands before the first FROM`);
    }
    for (const [name, value] of argValues(instruction, this.#globalArgs, this.wish.args)) {
      this.#asked.add(name);
      if (value !== null) this.#globalArgs[name] = value;
    }
  }

  #from(instruction: Instruction): void {
    const { line, flags, text } = instruction;
    const index = this.#stages.length;
    for (const { name, value } of flags) {
      const isOurs = name === 'platform' && value !== null && this.#expand(value, instruction) === 'linux/amd64';
      if (!isOurs) throw refusedAt(line, `FROM --${name}=${value ?? ''}: only --platform=linux/amd64`);
    }
    const words = splitWords(text, instruction);
    const [image = '', as, alias] = words;
    if (words.length !== 1 && (words.length !== 3 || as?.toLowerCase() !== 'as')) {
      throw refusedAt(line, 'FROM takes an image, or `image AS name`');
    }
    const name = alias?.toLowerCase() ?? null;
    if (name !== null && !/^[a-z][a-z0-9-_.]*$/.test(name)) {
      throw refusedAt(line, `${JSON.stringify(alias)} is no name of a stage`);
    }
    const { from, settings } = this.#origin(this.#expand(image, instruction), line);
    this.#stages.push(
      new StageReader({ index, name, from, line }, settings, {
        globalArgs: this.#globalArgs,
        given: this.wish.args,
        stageOf: (wanted) => this.#stageOf(wanted, index),
        asked: (asked) => this.#asked.add(asked),
      }),
    );
    if (name !== null) this.#names.set(name, index);
  }

  #expand(word: string, instruction: Instruction): string {
    return expanded(word, this.#globalArgs, instruction);
  }

  #origin(image: string, line: number): { from: Origin; settings: Settings } {
    if (image === '') throw refusedAt(line, 'FROM names nothing');
    const stage = this.#names.get(image.toLowerCase());
    const before = stage === undefined ? undefined : this.#stages[stage];
    if (stage !== undefined && before) return { from: { stage }, settings: before.end.settings };
    if (image === 'scratch') throw refusedAt(line, 'FROM scratch has neither a kernel nor a shell');
    const { aliases } = this.wish;
    const source = Object.hasOwn(aliases, image) ? aliases[image] : image;
    if (source === undefined || !/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(source)) {
      throw refusedAt(line, `${JSON.stringify(image)} is no source; an alias says which one is meant`);
    }
    return { from: { source }, settings: NO_SETTINGS };
  }

  #stageOf(name: string, before = this.#stages.length): number | null {
    const found = this.#names.get(name.toLowerCase()) ?? (/^\d{1,4}$/.test(name) ? Number(name) : null);
    return found !== null && found < before ? found : null;
  }
}

/** A stage and those that it is made of, in the order of the file. */
function needed(stages: readonly Stage[], target: number): Stage[] {
  const wanted = new Set<number>();
  const take = (index: number): void => {
    const stage = stages[index];
    if (!stage || wanted.has(index)) return;
    wanted.add(index);
    if ('stage' in stage.from) take(stage.from.stage);
    for (const step of stage.steps) if (step.kind === 'copy' && step.from !== null) take(step.from);
  };
  take(target);
  return stages.filter(({ index }) => wanted.has(index));
}
