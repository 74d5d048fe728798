/** A store in the hands of one run of a handler: refuses every call once that run no longer counts. */
export function fencedStore<S>(store: S, run: { checkFence(): void }): S {
  if (typeof store !== 'object' || store === null) return store;
  return new Proxy(store, {
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') {
        run.checkFence();
        return member;
      }
      return (...args: unknown[]): unknown => {
        run.checkFence();
        return Reflect.apply(member, target, args);
      };
    },
  });
}
