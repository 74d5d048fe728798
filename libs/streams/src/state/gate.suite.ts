/** Holds whoever awaits `opened` until `open` is called. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  const waiting: (() => void)[] = [];
  const opened = new Promise<void>((resolve) => {
    waiting.push(resolve);
  });
  return {
    opened,
    open() {
      for (const resolve of waiting) resolve();
    },
  };
}
