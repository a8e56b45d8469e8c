// A prompt that comes up by itself may surprise a person who is typing something else. Until keyboard and pointer have
// rested for a moment, they cannot answer it.

export const quietTime = 400; // ms

export class Quiet {
  private until = 0;
  private strict = false;
  private timer = 0;
  changed: () => void = () => {};

  // begin starts the rest. If strict, every key is ignored; otherwise only keys that answer, so that a person who walks
  // through the list can go on.
  begin(strict: boolean): void {
    this.strict = strict;
    this.wait();
  }

  get resting(): boolean {
    return performance.now() < this.until;
  }

  // take reports whether a key or a press counts. One that does not count restarts the rest.
  take(answers: boolean): boolean {
    if (!this.resting) return true;
    if (!answers && !this.strict) return true;
    this.wait();
    return false;
  }

  private wait(): void {
    this.until = performance.now() + quietTime;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.changed(), quietTime + 10);
    this.changed();
  }
}
