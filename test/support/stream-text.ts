/** What `GET /v1/approvals/events` says when it has sent what waits: after it, it may be silent for ever. */
const SO_FAR = ': this is what waits\n\n';

/** The text of an answer; of a stream without an end, until what it has at first was sent. */
export async function textOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; ; ) {
    const read = await reader?.read();
    if (!read?.value) return text;
    text += decoder.decode(read.value, { stream: true });
    if (!text.endsWith(SO_FAR)) continue;
    await reader?.cancel();
    return text;
  }
}
