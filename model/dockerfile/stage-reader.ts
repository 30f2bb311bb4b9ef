import { LIMITS } from '../limits.ts';
import { utf8Length } from '../utf8.ts';
import { buildCopyStep } from './copy-step.ts';
import type { Instruction } from './instructions.ts';
import { parseArgs, parsePairs } from './named-values.ts';
import { resolvePath } from './patterns/paths.ts';
import type { Ignore, Settings, Stage, Step } from './plan.ts';
import { unsupportedAt } from './refusal.ts';
import { buildRunStep, refuseTooLong } from './run-step.ts';
import { isUser } from './user.ts';
import { expandWord, splitWords, type Variables } from './words.ts';

/** Context of a stage in its Dockerfile. */
interface StageContext {
  /** ARGs before the first FROM. */
  globalArgs: Variables;
  given: Variables;
  /** Returns the index of an earlier stage. */
  stageOf(name: string): number | null;
  /** Called with the name of each declared ARG. */
  asked(name: string): void;
  ignore: Ignore;
}

/** Instructions that Docker stores for the container runtime; sandboxes have no equivalent. */
const IGNORED: Readonly<Record<string, string>> = {
  HEALTHCHECK: 'nothing is checked while a sandbox runs; `--ready` is asked before the image is saved',
  MAINTAINER: 'kept nowhere; LABEL is',
  STOPSIGNAL: 'systemd ends the program with SIGTERM',
  VOLUME: 'a folder of the image like any other',
};

/** Returns `all`. @throws MayflyError dockerfile_unsupported for too many entries */
function assertFew<T extends object>({ line, keyword }: Instruction, all: T): T {
  if (Object.keys(all).length <= LIMITS.image.variables) return all;
  throw unsupportedAt(line, `${keyword}: a stage has at most ${LIMITS.image.variables} of them`);
}

/** @throws MayflyError dockerfile_unsupported */
function refuseLongVariables(variables: Variables, line: number): void {
  const { variableBytes } = LIMITS.image;
  const bytes = Object.entries(variables).reduce((sum, [name, value]) => sum + name.length + 1 + utf8Length(value), 0);
  if (bytes > variableBytes)
    throw unsupportedAt(line, `the variables of a step have at most ${variableBytes} bytes in all`);
}

/** Reads a stage instruction by instruction; each sees the effects of those before it. */
export class StageReader {
  readonly #steps: Step[] = [];
  readonly #args: Record<string, string> = {};
  #settings: Settings;
  /** True when the stage has its own CMD; an ENTRYPOINT resets an inherited one. */
  #isCmdOwn = false;

  constructor(
    private readonly stage: Omit<Stage, 'steps' | 'settings'>,
    inherited: Settings,
    private readonly around: StageContext,
  ) {
    this.#settings = inherited;
  }

  get end(): Stage {
    return { ...this.stage, steps: this.#steps, settings: this.#settings };
  }

  /** @throws MayflyError dockerfile_unsupported */
  read(instruction: Instruction): void {
    const { keyword, line, flags } = instruction;
    const ignored = IGNORED[keyword];
    if (ignored !== undefined) {
      this.around.ignore({ line, text: `${keyword}: ${ignored}` });
      return;
    }
    const reader = this.#readers[keyword];
    if (!reader) throw unsupportedAt(line, `${keyword} is not done here`);
    const [flag] = flags;
    if (flag && !['RUN', 'COPY', 'ADD'].includes(keyword)) throw unsupportedAt(line, `${keyword} --${flag.name}`);
    reader(instruction);
  }

  readonly #readers: Record<string, (instruction: Instruction) => void> = {
    RUN: (each) => this.#steps.push(buildRunStep(each, this.#settings, this.#args, this.around.ignore)),
    COPY: (each) => this.#copy(each),
    ADD: (each) => this.#copy(each),
    ARG: (each) => this.#arg(each),
    ENV: (each) => this.#env(each),
    LABEL: (each) => this.#set({ labels: assertFew(each, { ...this.#settings.labels, ...this.#readPairs(each) }) }),
    WORKDIR: (each) => this.#workdir(each),
    USER: (each) => this.#set({ user: this.#userOf(each) }),
    SHELL: (each) => this.#set({ shell: this.#shellOf(each) }),
    EXPOSE: (each) =>
      this.#set({ exposed: assertFew(each, [...new Set([...this.#settings.exposed, ...this.#portsOf(each)])]) }),
    CMD: (each) => {
      this.#isCmdOwn = true;
      this.#set({ cmd: this.#programOf(each) });
    },
    ENTRYPOINT: (each) => {
      this.#set({ entrypoint: this.#programOf(each), ...(!this.#isCmdOwn && { cmd: null }) });
    },
  };

  /** Variables in scope; ENV overrides an ARG of the same name. */
  get #variables(): Variables {
    return { ...this.#args, ...this.#settings.env };
  }

  #set(changes: Partial<Settings>): void {
    this.#settings = { ...this.#settings, ...changes };
  }

  #env(instruction: Instruction): void {
    const env = assertFew(instruction, { ...this.#settings.env, ...this.#readPairs(instruction) });
    refuseLongVariables({ ...this.#args, ...env }, instruction.line);
    this.#set({ env });
  }

  #copy(instruction: Instruction): void {
    const stageOf = (name: string) => this.around.stageOf(name);
    this.#steps.push(buildCopyStep(instruction, this.#settings, this.#variables, stageOf, this.around.ignore));
  }

  /** Declares an ARG; without a default, it takes the value from before the first FROM. */
  #arg(instruction: Instruction): void {
    for (const [name, own] of parseArgs(instruction, this.#variables, this.around.given)) {
      this.around.asked(name);
      const value = own ?? (Object.hasOwn(this.around.globalArgs, name) ? this.around.globalArgs[name] : undefined);
      if (value !== undefined) this.#args[name] = value;
    }
    assertFew(instruction, this.#args);
    refuseLongVariables(this.#variables, instruction.line);
  }

  #readPairs(instruction: Instruction): Record<string, string> {
    return Object.fromEntries(parsePairs(instruction, this.#variables));
  }

  #workdir(instruction: Instruction): void {
    const workdir = resolvePath(this.#readSingleValue(instruction), this.#settings.workdir).replace(/(?<=.)\/$/, '');
    const { line, text } = instruction;
    if (/\p{Cc}/u.test(workdir)) throw unsupportedAt(line, 'WORKDIR has a control character');
    this.#set({ workdir });
    const { user } = this.#settings;
    this.#steps.push({ kind: 'workdir', line, text: `WORKDIR ${text}`, path: workdir, user });
  }

  #userOf(instruction: Instruction): string {
    const user = this.#readSingleValue(instruction);
    if (isUser(user)) return user;
    throw unsupportedAt(instruction.line, `USER ${user}: it is no name or number of a user, or of a user and a group`);
  }

  #shellOf({ json, line }: Instruction): string[] {
    if (json === null || json.length === 0) throw unsupportedAt(line, 'SHELL takes the JSON form');
    return json;
  }

  #portsOf(instruction: Instruction): string[] {
    return splitWords(instruction.text, instruction).map((word) => {
      const port = expandWord(word, this.#variables, instruction);
      if (/^\d{1,5}(?:-\d{1,5})?(?:\/(?:tcp|udp))?$/.test(port)) return port.includes('/') ? port : `${port}/tcp`;
      throw unsupportedAt(instruction.line, `${JSON.stringify(port)} is no port`);
    });
  }

  #programOf({ json, text, line }: Instruction): string[] {
    const program = json ?? [...this.#settings.shell, text];
    refuseTooLong(program, line);
    return program;
  }

  #readSingleValue(instruction: Instruction): string {
    const value = expandWord(instruction.text.trim(), this.#variables, instruction);
    if (value === '') throw unsupportedAt(instruction.line, `${instruction.keyword} names nothing`);
    return value;
  }
}
