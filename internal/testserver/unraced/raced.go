//go:build race

package unraced

// Raced reports whether the race detector is on, which multiplies memory.
const Raced = true
