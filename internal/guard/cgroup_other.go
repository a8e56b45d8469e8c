//go:build !linux

package guard

// cgroups is of Linux.
type cgroups struct{}

// cgroup is of Linux.
type cgroup struct{}
