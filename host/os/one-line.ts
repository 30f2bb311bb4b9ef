/** Returns untrusted output of a guest or a program as one line of printable ASCII, for messages. */
export function oneLine(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, ' ').trim();
}
