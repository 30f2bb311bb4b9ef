import { readFile } from 'node:fs/promises';
import { orAbsent } from '../../host/os/absent.ts';
import { usageError } from '../terminal/cli-error.ts';

/**
 * `id=name` with `src=file` or `env=NAME`; with neither it is the variable of that name, or else the file, as with Docker.
 * @returns by id, in base64
 * @throws CliError, which does not say what a secret is
 */
export async function secretsOf(env: NodeJS.ProcessEnv, texts: readonly string[]): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const text of texts) {
    const options = new Map(text.split(',').map((option) => pair(option)));
    const id = options.get('id');
    const unknown = [...options.keys()].find((key) => !['id', 'src', 'source', 'env', 'type'].includes(key));
    if (!id || unknown !== undefined) throw usageError('--secret must be id=name[,src=file|,env=NAME]');
    const file = options.get('src') ?? options.get('source');
    const variable = options.get('env') ?? (file === undefined && env[id] !== undefined ? id : undefined);
    const bytes = variable === undefined ? await fileOf(file ?? id) : Buffer.from(variableOf(env, variable));
    found[id] = bytes.toString('base64');
  }
  return found;
}

function pair(option: string): [string, string] {
  const at = option.indexOf('=');
  return at < 0 ? [option, ''] : [option.slice(0, at), option.slice(at + 1)];
}

function variableOf(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name];
  if (value === undefined) throw usageError(`the variable ${name} is not set`);
  return value;
}

async function fileOf(path: string): Promise<Buffer> {
  const content = await orAbsent(readFile(path));
  if (content) return content;
  throw usageError(`there is no file ${JSON.stringify(path)}`, 'Name it with --secret id=name,src=file.');
}
