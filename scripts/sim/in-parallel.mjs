// @ts-check

/**
 * Does the work for each item, some at a time, in their order.
 *
 * @template Item, Result
 * @param {readonly Item[]} items
 * @param {number} atOnce
 * @param {(item: Item) => Promise<Result>} work
 * @returns {Promise<Result>[]} one for each item
 */
export function inParallel(items, atOnce, work) {
  /** @type {(() => void)[]} */
  const waiting = [];
  let free = atOnce;
  /** @type {() => Promise<void>} */
  const enter = async () => {
    if (free > 0) free--;
    else await new Promise((/** @type {(go: void) => void} */ go) => waiting.push(go));
  };
  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };
  return items.map(async (item) => {
    await enter();
    try {
      return await work(item);
    } finally {
      leave();
    }
  });
}
