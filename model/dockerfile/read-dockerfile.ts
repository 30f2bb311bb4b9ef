import { LIMITS } from '../limits.ts';
import { type Instruction, parseInstructions } from './instructions.ts';
import { parseArgs } from './named-values.ts';
import { normalizePath } from './patterns/paths.ts';
import { type BuildPlan, type IgnoredLine, NO_SETTINGS, type Origin, type Settings, type Stage } from './plan.ts';
import { Refusals, unsupportedAt } from './refusal.ts';
import { findGoldenSource, MACHINE_SOURCE, PLATFORM, PLATFORM_ARGS, type RootImage } from './root-image.ts';
import { StageReader } from './stage-reader.ts';
import { expandWord, splitWords, type Variables } from './words.ts';

interface BuildRequest {
  dockerfile: string;
  args: Variables;
  /** Stage by name or index; null: the last. */
  target: string | null;
  /** Sources for image names in FROM: `node:20` for `golden-agent`. Names of {@link findGoldenSource} need no alias. */
  aliases: Readonly<Record<string, string>>;
  /** Root file systems found in the context. `@default` none */
  roots?: readonly RootImage[];
}

/** Root file system that a FROM names in the context. */
export interface RootPath {
  path: string;
  line: number;
}

/**
 * Reads a whole Dockerfile with Docker's semantics before any step runs.
 * @throws MayflyError dockerfile_unsupported with each refused line
 */
export function readDockerfile(wish: BuildRequest): BuildPlan {
  return new Reader(wish).plan();
}

/**
 * Lists the root file systems that a Dockerfile starts from, existing or not. Ignores errors, all of which
 * {@link readDockerfile} reports.
 */
export function listRootPaths(wish: BuildRequest): RootPath[] {
  return new Reader(wish).rootPaths();
}

class Reader {
  readonly #stages: StageReader[] = [];
  readonly #names = new Map<string, number>();
  readonly #globalArgs: Record<string, string> = { ...PLATFORM_ARGS };
  readonly #refusals = new Refusals();
  readonly #ignored: IgnoredLine[] = [];
  readonly #asked = new Set<string>();
  readonly #rootPaths: RootPath[] = [];
  /** Implicit stages that build roots, with indexes from -1 down. */
  readonly #rootStages: Stage[] = [];

  constructor(private readonly wish: BuildRequest) {}

  plan(): BuildPlan {
    for (const instruction of this.#instructions()) this.#refusals.attempt(() => this.#read(instruction));
    this.#refusals.throwAll();
    const last = this.#stages.length - 1;
    if (last < 0) throw unsupportedAt(1, 'there is no FROM');
    const { target, args } = this.wish;
    const wanted = target === null ? last : this.#stageOf(target);
    if (wanted === null) throw unsupportedAt(1, `there is no stage ${JSON.stringify(target)}`);
    const stages = this.#withRoots(
      selectRequiredStages(
        this.#stages.map(({ end }) => end),
        wanted,
      ),
    );
    const steps = stages.flatMap((stage) => stage.steps);
    const beyond = steps[LIMITS.image.steps];
    if (beyond) throw unsupportedAt(beyond.line, `there are more than ${LIMITS.image.steps} steps`);
    const unusedArgs = Object.keys(args).filter((name) => !this.#asked.has(name));
    return { stages, unusedArgs, ignored: this.#ignored };
  }

  #instructions(): Instruction[] {
    return parseInstructions(this.wish.dockerfile, this.#refusals, this.#ignored);
  }

  rootPaths(): RootPath[] {
    for (const instruction of this.#refusals.attempt(() => this.#instructions()) ?? []) {
      const isFirst = this.#stages.length === 0;
      if (instruction.keyword !== 'FROM' && !isFirst) continue;
      this.#refusals.attempt(() => this.#read(instruction));
    }
    return this.#rootPaths;
  }

  /** Inserts each root's stage before the first stage that needs it. */
  #withRoots(stages: readonly Stage[]): Stage[] {
    const found = new Set<Stage>();
    for (const stage of stages) {
      const root = 'stage' in stage.from ? this.#rootStages[-1 - stage.from.stage] : undefined;
      if (root && root.steps.length === 0) {
        const [path] = this.#rootPaths.filter(({ line }) => line === root.line);
        throw unsupportedAt(root.line, `${JSON.stringify(path?.path)} is not in the context`);
      }
      if (root) found.add(root);
      found.add(stage);
    }
    return [...found];
  }

  #read(instruction: Instruction): void {
    const stage = this.#stages.at(-1);
    if (instruction.keyword === 'FROM') this.#from(instruction);
    else if (stage) stage.read(instruction);
    else this.#readFirst(instruction);
  }

  /** Reads an instruction before the first FROM. */
  #readFirst(instruction: Instruction): void {
    if (instruction.keyword !== 'ARG') {
      throw unsupportedAt(instruction.line, `${instruction.keyword} stands before the first FROM`);
    }
    for (const [name, value] of parseArgs(instruction, this.#globalArgs, this.wish.args)) {
      this.#asked.add(name);
      if (value !== null) this.#globalArgs[name] = value;
    }
  }

  #from(instruction: Instruction): void {
    const { line, flags, text } = instruction;
    const index = this.#stages.length;
    for (const { name, value } of flags) {
      const isOurs = name === 'platform' && value !== null && this.#expand(value, instruction) === PLATFORM;
      if (!isOurs) throw unsupportedAt(line, `FROM --${name}=${value ?? ''}: only --platform=${PLATFORM}`);
    }
    const words = splitWords(text, instruction);
    const [image = '', as, alias] = words;
    if (words.length !== 1 && (words.length !== 3 || as?.toLowerCase() !== 'as')) {
      throw unsupportedAt(line, 'FROM takes an image, or `image AS name`');
    }
    const name = alias?.toLowerCase() ?? null;
    if (name !== null && !/^[a-z][a-z0-9-_.]*$/.test(name)) {
      throw unsupportedAt(line, `${JSON.stringify(alias)} is no name of a stage`);
    }
    // without a valid base, the rest of the stage is still read for its errors
    const origin = this.#refusals.attempt(() => this.#origin(this.#expand(image, instruction), line));
    const { from, settings } = origin ?? { from: { source: MACHINE_SOURCE }, settings: NO_SETTINGS };
    this.#stages.push(
      new StageReader({ index, name, from, line }, settings, {
        globalArgs: this.#globalArgs,
        given: this.wish.args,
        stageOf: (wanted) => this.#stageOf(wanted, index),
        asked: (asked) => this.#asked.add(asked),
        ignore: (ignored) => this.#ignored.push(ignored),
      }),
    );
    if (name !== null) this.#names.set(name, index);
  }

  #expand(word: string, instruction: Instruction): string {
    return expandWord(word, this.#globalArgs, instruction);
  }

  #origin(image: string, line: number): { from: Origin; settings: Settings } {
    if (image === '') throw unsupportedAt(line, 'FROM names nothing');
    const stage = this.#names.get(image.toLowerCase());
    const before = stage === undefined ? undefined : this.#stages[stage];
    if (stage !== undefined && before) return { from: { stage }, settings: before.end.settings };
    if (image === 'scratch') throw unsupportedAt(line, 'FROM scratch has neither a kernel nor a shell');
    const meant = this.#resolveAlias(image);
    if (meant.startsWith('./')) return this.#root(meant, line);
    return { from: { source: this.#source(image, line) }, settings: NO_SETTINGS };
  }

  #resolveAlias(name: string): string {
    const { aliases } = this.wish;
    return (Object.hasOwn(aliases, name) ? aliases[name] : undefined) ?? findGoldenSource(name) ?? name;
  }

  #source(name: string, line: number): string {
    const source = this.#resolveAlias(name);
    if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(source)) return source;
    throw unsupportedAt(line, `${JSON.stringify(name)} is no source; ${sourceHint(name)}`);
  }

  /** Adds a stage for a root, once for all stages that start from it. */
  #root(said: string, line: number): { from: Origin; settings: Settings } {
    const path = normalizePath(said);
    const before = this.#rootPaths.findIndex((each) => each.path === path);
    const image = this.wish.roots?.find((each) => each.path === path);
    const settings = image?.settings ?? NO_SETTINGS;
    if (before >= 0) return { from: { stage: -1 - before }, settings };
    this.#rootPaths.push({ path, line });
    const index = -this.#rootPaths.length;
    const from = { source: this.#source(MACHINE_SOURCE, line) };
    const step = image && ({ kind: 'root', line, text: `FROM ${said}`, layers: image.layers } as const);
    this.#rootStages.push({ index, name: null, from, line, steps: step ? [step] : [], settings });
    return { from: { stage: index }, settings };
  }

  #stageOf(name: string, before = this.#stages.length): number | null {
    const found = this.#names.get(name.toLowerCase()) ?? (/^\d{1,4}$/.test(name) ? Number(name) : null);
    return found !== null && found < before ? found : null;
  }
}

/** Suggests commands for an image name of a registry. */
function sourceHint(name: string): string {
  if (!/^[\w][\w./:@-]{0,255}$/.test(name))
    return 'name a source, or say which one is meant with `--alias NAME=SOURCE`';
  const file = `${name
    .replace(/[:@].*$/, '')
    .split('/')
    .at(-1)}.tar`;
  return (
    `a root file system of the context begins with ./; else say which one is meant with \`--alias ${name}=SOURCE\`, or bring its root into the context with ` +
    `\`skopeo copy docker://${name} oci-archive:${file}\` and \`--alias ${name}=./${file}\``
  );
}

/** Returns a stage and its dependencies, in file order. */
function selectRequiredStages(stages: readonly Stage[], target: number): Stage[] {
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
