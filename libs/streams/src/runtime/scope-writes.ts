/** What one record has written to one store, by map key. Most records write one entry: it needs no map. */
export class ScopeWrites<Write> {
  private firstKey: string | undefined;
  private first: Write | undefined;
  private others: Map<string, Write> | undefined;

  get(mapKey: string): Write | undefined {
    return mapKey === this.firstKey ? this.first : this.others?.get(mapKey);
  }

  set(mapKey: string, write: Write): void {
    if (this.firstKey === undefined || this.firstKey === mapKey) {
      this.firstKey = mapKey;
      this.first = write;
    } else (this.others ??= new Map<string, Write>()).set(mapKey, write);
  }

  forEach(callback: (write: Write, mapKey: string) => void): void {
    if (this.firstKey !== undefined && this.first !== undefined) callback(this.first, this.firstKey);
    this.others?.forEach(callback);
  }
}
