import { LIMITS } from '../limits.ts';
import { WAITPOINT_NAME, type WaitpointRequest } from './waitpoint.ts';

const { min, max } = LIMITS.functions.waitpoints.timeoutSeconds;
const ASKED = /^([a-z0-9-]+)\.ask-([1-9][0-9]{0,6})$/;

/** Parses a guest file's name as a waitpoint request; null: another file. */
export function parseRequestFile(fileName: string): WaitpointRequest | null {
  const [, name = '', seconds = ''] = ASKED.exec(fileName) ?? [];
  const timeoutSeconds = Number(seconds);
  const isOne = WAITPOINT_NAME.test(name) && timeoutSeconds >= min && timeoutSeconds <= max;
  return isOne ? { name, timeoutSeconds } : null;
}
