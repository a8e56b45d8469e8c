//go:build !race

package unraced

// Raced says that the race detector is at work, which multiplies memory.
const Raced = false
