/** What a process that has ended waits for. */
export function never(): Promise<never> {
  return new Promise(() => {});
}
