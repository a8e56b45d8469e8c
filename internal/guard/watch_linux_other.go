//go:build linux && !amd64

package guard

var legacyCalls []fileCall
