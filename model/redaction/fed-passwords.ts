import type { Span } from './span.ts';

/** Programs that read lines of `user:password`: chpasswd(8), newusers(8). */
const PROGRAM = /(?<![\w.-])(?:chpasswd|newusers)(?![\w-])/g;
/** Distance between such a program and its input before the pipe or after `<<`, characters. */
const NEAR = 1_000;
/** Lines with a literal or variable user name: quoted with spaces, or a shell word. */
const LINES = [
  /(?<=["'`\n]|\\n)\$?\{?[A-Za-z_][\w.-]{0,31}\}?:(?!\/\/)((?:[^\r\n"'`\\]|\\(?!n))+)(?=["'`\r\n]|\\n|$)/g,
  /(?<![\w.:/-])\$?\{?[A-Za-z_][\w.-]{0,31}\}?:(?!\/\/)((?:[^\s"'`\\]|\\(?!n).)+)/g,
];

/** Finds passwords fed to those programs on a command line. */
export function findFedPasswords(text: string): Span[] {
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
