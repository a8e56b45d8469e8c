//go:build !race

package main

// raced says that the race detector is at work, which multiplies memory.
const raced = false

// hostileTimeout is what calls of hostile servers may take: enough to read 64 MiB.
const hostileTimeout = "3s"
