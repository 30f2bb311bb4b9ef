import type { Span } from './span.ts';

/** Programs that are fed lines of `user:password`: chpasswd(8), newusers(8). */
const PROGRAM = /(?<![\w.-])(?:chpasswd|newusers)(?![\w-])/g;
/** What feeds them stands before a pipe, or behind `<<`: within so many characters. */
const NEAR = 1_000;
/** A name, or the variable that has it, and what a line has behind it: in quotes with its spaces, else a shell's word. */
const LINES = [
  /(?<=["'`\n]|\\n)\$?\{?[A-Za-z_][\w.-]{0,31}\}?:(?!\/\/)((?:[^\r\n"'`\\]|\\(?!n))+)(?=["'`\r\n]|\\n|$)/g,
  /(?<![\w.:/-])\$?\{?[A-Za-z_][\w.-]{0,31}\}?:(?!\/\/)((?:[^\s"'`\\]|\\(?!n).)+)/g,
];

/** Passwords on their way into those programs, as a command line has them. */
export function spansFed(text: string): Span[] {
  const spans: Span[] = [];
  let read = 0;
  for (const { index } of text.matchAll(PROGRAM)) {
    const start = Math.max(read, index - NEAR);
    read = Math.max(start, index + NEAR);
    const near = text.slice(start, read);
    for (const line of LINES) {
      for (const { 0: found, 1: password = '', index: at } of near.matchAll(line)) {
        const end = start + at + found.length;
        spans.push({ start: end - password.length, end });
      }
    }
  }
  return spans;
}
