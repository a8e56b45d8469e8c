package nolink

// noWait is not needed: files of folders are never pipes.
const noWait = 0
