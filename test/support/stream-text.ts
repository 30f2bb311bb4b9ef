/** Comment of `GET /v1/approvals/events` after the pending ones; the stream may then be silent forever. */
const SO_FAR = ': this is what waits\n\n';

/** Returns the text of an answer; of an endless stream its initial part. */
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
