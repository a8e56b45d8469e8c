// What hangs says so. What the browser's own library waits for names itself already.

const limit = 300_000; // ms
const late = (what, ms) => new Error(`waited ${ms / 1000} s in vain: ${what}`);

// within waits for a promise, and fails with the name of what never came.
export async function within(what, promise, ms = limit) {
  let timer;
  const never = new Promise((_, reject) => (timer = setTimeout(() => reject(late(what, ms)), ms)));
  try {
    return await Promise.race([promise, never]);
  } finally {
    clearTimeout(timer);
  }
}

// until repeats a step until it is true.
export async function until(what, step) {
  const began = Date.now();
  while (!(await step())) if (Date.now() - began > limit) throw late(what, limit);
}
