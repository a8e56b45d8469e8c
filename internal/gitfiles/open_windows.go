package gitfiles

// noWait is not needed: pipes are never in folders.
const noWait = 0
