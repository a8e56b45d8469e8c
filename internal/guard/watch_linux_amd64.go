package guard

import "golang.org/x/sys/unix"

var legacyCalls = []fileCall{
	{number: unix.SYS_OPEN, dir: -1, path: 0, flags: 1},
	{number: unix.SYS_CREAT, dir: -1, path: 0, flags: -1},
	{number: unix.SYS_MKDIR, dir: -1, path: 0, flags: -1},
	{number: unix.SYS_RMDIR, dir: -1, path: 0, flags: -1},
	{number: unix.SYS_UNLINK, dir: -1, path: 0, flags: -1},
	{number: unix.SYS_RENAME, dir: -1, path: 1, flags: -1},
	{number: unix.SYS_RENAMEAT, dir: 2, path: 3, flags: -1},
}
