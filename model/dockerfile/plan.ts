import type { ContextEntry } from './context.ts';

/** Self-contained plan of a build: stages of steps with all their inputs. */
export interface BuildPlan {
  /** Target and the stages that it depends on, in file order. */
  stages: Stage[];
  /** Build arguments without a matching ARG. */
  unusedArgs: string[];
  /** Instructions without effect on the image. */
  ignored: IgnoredLine[];
}

/** Called with each ignored instruction or flag. */
export type Ignore = (ignored: IgnoredLine) => void;

export interface IgnoredLine {
  line: number;
  /** Instruction or flag, and its replacement or the reason. */
  text: string;
}

/** Base of a stage: a source, or the end of another stage. */
export type Origin = { source: string } | { stage: number };

export interface Stage {
  /** Position in the file, from 0; below 0: implicit stage that builds a root for others. */
  index: number;
  name: string | null;
  from: Origin;
  line: number;
  steps: Step[];
  settings: Settings;
}

/** Settings of an image's processes, from its instructions. */
export interface Settings {
  env: Readonly<Record<string, string>>;
  workdir: string;
  user: string;
  shell: readonly string[];
  labels: Readonly<Record<string, string>>;
  exposed: readonly string[];
  cmd: readonly string[] | null;
  entrypoint: readonly string[] | null;
}

/** Empty folder that is excluded from all layers. */
export interface CacheMount {
  target: string;
  /** Octal. */
  mode: string;
  /** `uid:gid` */
  owner: string;
}

export interface SecretMount {
  id: string;
  target: string;
  /** Octal. */
  mode: string;
  /** `uid:gid` */
  owner: string;
  isRequired: boolean;
}

interface StepText {
  line: number;
  /** Instruction for display, variables unexpanded. */
  text: string;
}

export interface RunStep extends StepText {
  kind: 'run';
  argv: string[];
  stdin: string;
  /** ENV and the ARGs declared so far. */
  env: Record<string, string>;
  cwd: string;
  user: string;
  secrets: SecretMount[];
  /** `@default` none */
  caches?: CacheMount[];
}

export interface CopyStep extends StepText {
  kind: 'copy';
  /** Paths in the context, or below the root of the stage. */
  sources: string[];
  /** Heredoc files. */
  inline: { name: string; content: string }[];
  /** Index of a stage; null: the context. */
  from: number | null;
  /** Absolute. A trailing `/` makes it a directory in any case. */
  target: string;
  owner: string | null;
  /** Octal. */
  mode: string | null;
}

/** Creates a directory and its missing parents. */
export interface WorkdirStep extends StepText {
  kind: 'workdir';
  path: string;
  /** Owner of the created directories. */
  user: string;
}

/** Archive with a layer's files. */
export interface RootLayer {
  /** Location of the archive in the context; its digest covers the archive. */
  entry: ContextEntry;
  /** `sha256:…` of the uncompressed layer from its image; null: a plain archive, without whiteouts. */
  diffId: string | null;
}

/** Replaces the root file system of the source. */
interface RootStep extends StepText {
  kind: 'root';
  /** From the lowest to the topmost. */
  layers: readonly RootLayer[];
}

export type Step = RunStep | CopyStep | WorkdirStep | RootStep;

export const NO_SETTINGS: Settings = {
  env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
  workdir: '/',
  user: 'root',
  shell: ['/bin/sh', '-c'],
  labels: {},
  exposed: [],
  cmd: null,
  entrypoint: null,
};
