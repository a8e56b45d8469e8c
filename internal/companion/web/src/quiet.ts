// A prompt that comes up by itself meets a person who is typing something else. Until keyboard and pointer have
// rested for a moment, nothing that they do answers it.

export const quietTime = 400; // ms

export class Quiet {
  private until = 0;
  private strict = false;
  private timer = 0;
  changed: () => void = () => {};

  // begin starts the rest. With strict every key is swallowed, without it only those that answer: a person who
  // walks through the list may go on walking.
  begin(strict: boolean): void {
    this.strict = strict;
    this.wait();
  }

  get resting(): boolean {
    return performance.now() < this.until;
  }

  // take reports whether a key or a press counts. One that does not makes the rest begin anew.
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
