/** As Promise.all, but fails only when all have ended: nothing goes on behind a step that has failed. */
export async function allEnded<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other]);
  return await Promise.all([one, other]);
}
