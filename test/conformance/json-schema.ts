import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MayflyError } from '../../model/errors.ts';
import { InputSchemas } from '../../services/schema/input-schemas.ts';
import { DECLARED } from './json-schema-differences.ts';
import { type Part, Tally } from './part.ts';

interface Group {
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}

/** Applies the required part of the JSON Schema test suite, draft 2020-12, as the API does to events. */
export const jsonSchema: Part = async ({ schemaSuite }) => {
  const schemas = new InputSchemas();
  const awake = setInterval(() => {}, 60_000); // keeps this process alive
  const tally = new Tally(DECLARED);
  try {
    for (const file of (await readdir(schemaSuite)).filter((name) => name.endsWith('.json')).sort()) {
      const groups = JSON.parse(await readFile(join(schemaSuite, file), 'utf8')) as Group[];
      for (const [nth, group] of groups.entries())
        await tryGroup(schemas, tally, `${basename(file, '.json')}/${nth}`, group);
    }
  } finally {
    await schemas.close();
    clearInterval(awake);
  }
  return tally;
};

async function tryGroup(schemas: InputSchemas, tally: Tally, name: string, group: Group): Promise<void> {
  for (const { data, valid, description } of group.tests) {
    const found = await problemsOf(schemas, name, group.schema, data);
    const isSame = typeof found !== 'string' && (found.length === 0) === valid;
    const said =
      typeof found === 'string' ? found : `${group.description}: ${description}: must ${valid ? '' : 'not '}fit`;
    tally.count(name, isSame, said);
  }
}

async function problemsOf(schemas: InputSchemas, name: string, schema: unknown, data: unknown) {
  try {
    return await schemas.problemsOf(name, schema, data);
  } catch (error) {
    if (error instanceof MayflyError) return `${error.code}: ${error.message}`;
    throw error;
  }
}
