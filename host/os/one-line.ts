/** What a guest or a program has said, as one line of printable ASCII: it comes from outside, and goes into messages. */
export function oneLine(text: string): string {
  return text.replace(/[^\x20-\x7e]+/g, ' ').trim();
}
