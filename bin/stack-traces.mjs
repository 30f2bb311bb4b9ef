// @ts-check
/** @module Stack traces that name source files instead of the bundled scripts. */
import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Maps stack traces to sources. Node's own support reads the map of every file of every package at start; this reads
 * only the maps that a trace needs.
 * @param {string} folder Of the scripts, with their maps.
 */
export function mapStackTraces(folder) {
  const prefix = `${pathToFileURL(folder).href}/`;
  /** @type {Map<string, SourceMap>} */
  const maps = new Map();
  /** @param {string} name */
  const mapOf = (name) => {
    const map = maps.get(name) ?? new SourceMap(JSON.parse(readFileSync(join(folder, `${name}.map`), 'utf8')));
    maps.set(name, map);
    return map;
  };
  /** @param {NodeJS.CallSite & { toString(): string }} frame */
  const line = (frame) => {
    const script = frame.getFileName();
    const shown = frame.toString();
    if (!script?.startsWith(prefix)) return shown;
    const [row, column] = [frame.getLineNumber() ?? 1, frame.getColumnNumber() ?? 1];
    const name = script.slice(prefix.length);
    const entry = mapOf(name).findEntry(row - 1, column - 1);
    if (!('originalSource' in entry)) return shown;
    const source = pathToFileURL(resolve(folder, entry.originalSource)).href;
    const place = `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    return shown.replace(`${script}:${row}:${column}`, () => place);
  };
  Error.prepareStackTrace = (error, frames) => {
    return [Error.prototype.toString.call(error), ...frames.map((frame) => `    at ${line(frame)}`)].join('\n');
  };
}
