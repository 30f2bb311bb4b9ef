import { copyStep } from './copy-step.ts';
import type { Instruction } from './instructions.ts';
import { argValues, namedValues } from './named-values.ts';
import { absolute } from './patterns/paths.ts';
import type { Settings, Stage, Step } from './plan.ts';
import { refusedAt } from './refusal.ts';
import { runStep } from './run-step.ts';
import { expanded, splitWords, type Variables } from './words.ts';

/** What is known around a stage. */
export interface Surroundings {
  /** Of ARGs before the first FROM. */
  globalArgs: Variables;
  given: Variables;
  /** The place of a stage that came before. */
  stageOf(name: string): number | null;
  /** Told of each ARG that asks for a variable. */
  asked(name: string): void;
}

/** Reads one stage, instruction by instruction: each sees what those before it have said. */
export class StageReader {
  readonly #steps: Step[] = [];
  readonly #args: Record<string, string> = {};
  #settings: Settings;
  /** A CMD that was inherited ends with an ENTRYPOINT of one's own. */
  #isCmdOwn = false;

  constructor(
    private readonly stage: Omit<Stage, 'steps' | 'settings'>,
    inherited: Settings,
    private readonly around: Surroundings,
  ) {
    this.#settings = inherited;
  }

  get end(): Stage {
    return { ...this.stage, steps: this.#steps, settings: this.#settings };
  }

  /** @throws MayflyError dockerfile_unsupported */
  read(instruction: Instruction): void {
    const { keyword, line, flags } = instruction;
    const reader = this.#readers[keyword];
    if (!reader) throw refusedAt(line, `${keyword} is not done here`);
    const [flag] = flags;
    if (flag && !['RUN', 'COPY', 'ADD'].includes(keyword)) throw refusedAt(line, `${keyword} --${flag.name}`);
    reader(instruction);
  }

  readonly #readers: Record<string, (instruction: Instruction) => void> = {
    RUN: (each) => this.#steps.push(runStep(each, this.#settings, this.#args)),
    COPY: (each) => this.#copy(each),
    ADD: (each) => this.#copy(each),
    ARG: (each) => this.#arg(each),
    ENV: (each) => this.#set({ env: { ...this.#settings.env, ...this.#named(each) } }),
    LABEL: (each) => this.#set({ labels: { ...this.#settings.labels, ...this.#named(each) } }),
    WORKDIR: (each) => this.#workdir(each),
    USER: (each) => this.#set({ user: this.#userOf(each) }),
    SHELL: (each) => this.#set({ shell: this.#shellOf(each) }),
    EXPOSE: (each) => this.#set({ exposed: [...new Set([...this.#settings.exposed, ...this.#portsOf(each)])] }),
    CMD: (each) => {
      this.#isCmdOwn = true;
      this.#set({ cmd: this.#programOf(each) });
    },
    ENTRYPOINT: (each) => {
      this.#set({ entrypoint: this.#programOf(each), ...(!this.#isCmdOwn && { cmd: null }) });
    },
  };

  /** ENV counts more than an ARG of its name. */
  get #variables(): Variables {
    return { ...this.#args, ...this.#settings.env };
  }

  #set(changes: Partial<Settings>): void {
    this.#settings = { ...this.#settings, ...changes };
  }

  #copy(instruction: Instruction): void {
    const stageOf = (name: string) => this.around.stageOf(name);
    this.#steps.push(copyStep(instruction, this.#settings, this.#variables, stageOf));
  }

  /** One without a default has that of before the first FROM. */
  #arg(instruction: Instruction): void {
    for (const [name, own] of argValues(instruction, this.#variables, this.around.given)) {
      this.around.asked(name);
      const value = own ?? (Object.hasOwn(this.around.globalArgs, name) ? this.around.globalArgs[name] : undefined);
      if (value !== undefined) this.#args[name] = value;
    }
  }

  #named(instruction: Instruction): Record<string, string> {
    return Object.fromEntries(namedValues(instruction, this.#variables));
  }

  #workdir(instruction: Instruction): void {
    const workdir = absolute(this.#one(instruction), this.#settings.workdir).replace(/(?<=.)\/$/, '');
    this.#set({ workdir });
    const { line, text } = instruction;
    const { user } = this.#settings;
    this.#steps.push({ kind: 'workdir', line, text: `WORKDIR ${text}`, path: workdir, user });
  }

  #userOf(instruction: Instruction): string {
    const user = this.#one(instruction);
    if (/^(?:[a-z_][a-z0-9_-]{0,31}\$?|\d{1,9})$/i.test(user)) return user;
    const why = user.includes(':') ? 'a group of its own is not done here' : 'it is no name or number of a user';
    throw refusedAt(instruction.line, `USER ${user}: ${why}`);
  }

  #shellOf({ json, line }: Instruction): string[] {
    if (json === null || json.length === 0) throw refusedAt(line, 'SHELL takes the JSON form');
    return json;
  }

  #portsOf(instruction: Instruction): string[] {
    return splitWords(instruction.text, instruction).map((word) => {
      const port = expanded(word, this.#variables, instruction);
      if (/^\d{1,5}(?:-\d{1,5})?(?:\/(?:tcp|udp))?$/.test(port)) return port.includes('/') ? port : `${port}/tcp`;
      throw refusedAt(instruction.line, `${JSON.stringify(port)} is no port`);
    });
  }

  #programOf({ json, text }: Instruction): string[] {
    return json ?? [...this.#settings.shell, text];
  }

  #one(instruction: Instruction): string {
    const value = expanded(instruction.text.trim(), this.#variables, instruction);
    if (value === '') throw refusedAt(instruction.line, `${instruction.keyword} names nothing`);
    return value;
  }
}
