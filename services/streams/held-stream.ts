/**
 * Pieces as the body of an answer. The first is awaited, so that what fails before it can still be told as a problem;
 * whoever goes away ends them, and what they clean up at their end is cleaned up.
 * @throws what the first piece throws
 */
export async function heldStream(
  pieces: AsyncGenerator<Uint8Array, void, undefined>,
): Promise<ReadableStream<Uint8Array>> {
  let held: IteratorResult<Uint8Array, void> | null = await pieces.next();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = held ?? (await pieces.next());
        held = null;
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}
