//go:build race

package main

// raced says that the race detector is at work, which multiplies memory.
const raced = true
